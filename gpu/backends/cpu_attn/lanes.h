/// \file
/// `Lanes`: the floats that one instruction works on, 8 (AVX2) or 16 (AVX-512). GCC's vectors have the
/// usual operators, each of which rounds as it does for one float; here is what they lack. A file that
/// includes this says how many lanes there are (PAGELAB_LANES) and what its copies of the code are
/// called (PAGELAB_WIDTH), and has allowed the instructions by a target pragma; see avx512.cpp.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>
#include <limits>

#include "reference/cache/cache_element.h"
#include "reference/numerics/exact_math.h"
#include "reference/numerics/float_formats.h"

namespace pagelab::cpu_attn {
namespace PAGELAB_WIDTH {

inline constexpr int kLanes = PAGELAB_LANES;                                    ///< floats at once
typedef float Lanes __attribute__((vector_size(4 * PAGELAB_LANES)));            ///< kLanes floats
typedef std::int32_t IntLanes __attribute__((vector_size(4 * PAGELAB_LANES)));  ///< kLanes integers
/// kLanes unsigned integers
typedef std::uint32_t UintLanes __attribute__((vector_size(4 * PAGELAB_LANES)));

/// kLanes neighbours from memory.
inline Lanes load(const float* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
/// kLanes integers from memory.
inline IntLanes load(const std::int32_t* from) {
  IntLanes lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
/// kLanes neighbours to memory.
inline void store(float* to, Lanes lanes) { std::memcpy(to, &lanes, sizeof lanes); }
/// The same number in every lane. (x − 0 is x; 0 + x would make +0 of −0.)
inline Lanes broadcast(float number) { return number - Lanes{}; }

#if PAGELAB_LANES == 16
/// a · b + c, with one rounding.
inline Lanes fma(Lanes a, Lanes b, Lanes c) { return _mm512_fmadd_ps(a, b, c); }
/// 16 codes of half the width of a float, as integers.
inline IntLanes load_16_bits(const void* from) {
  return (IntLanes)_mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(from)));
}
/// 16 bytes as integers.
inline IntLanes load_8_bits(const void* from) {
  return (IntLanes)_mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(from)));
}
/// The float16 numbers in the lower halves of integers.
inline Lanes from_half_bits(IntLanes bits) {
  return _mm512_cvtph_ps(_mm512_cvtepi32_epi16((__m512i)bits));
}
/// 16 float16 numbers.
inline Lanes load_half(const void* from) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(from)));
}
#else
/// a · b + c, with one rounding.
inline Lanes fma(Lanes a, Lanes b, Lanes c) { return _mm256_fmadd_ps(a, b, c); }
/// 8 codes of half the width of a float, as integers.
inline IntLanes load_16_bits(const void* from) {
  return (IntLanes)_mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(from)));
}
/// 8 bytes as integers.
inline IntLanes load_8_bits(const void* from) {
  return (IntLanes)_mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(from)));
}
/// The float16 numbers in the lower halves of integers.
inline Lanes from_half_bits(IntLanes bits) {
  const __m256i packed = _mm256_packus_epi32((__m256i)bits, (__m256i)bits);
  return _mm256_cvtph_ps(_mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08)));
}
/// 8 float16 numbers.
inline Lanes load_half(const void* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(from)));
}
#endif

/// kLanes stored elements as floats, before any scale. Every stored type has its exact way.
inline Lanes load_stored(const float* from) { return load(from); }
/// float64 is rounded, lane by lane: it is not for speed.
inline Lanes load_stored(const double* from) {
  Lanes lanes;
  for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = static_cast<float>(from[lane]);
  return lanes;
}
/// bfloat16 is the upper half of a float.
inline Lanes load_stored(const BFloat16* from) { return (Lanes)(load_16_bits(from) << 16); }
/// float16 has an instruction of its own.
inline Lanes load_stored(const Float16* from) { return load_half(from); }
/// e5m2 is the upper byte of a float16.
inline Lanes load_stored(const Fp8E5M2* from) { return from_half_bits(load_8_bits(from) << 8); }
/// e4m3's exponent is biased by 7 and float16's by 15: read as float16, a code is 2^-8 of its value,
/// subnormal or not. The code that would be 480 is NaN.
inline Lanes load_stored(const Fp8E4M3* from) {
  const IntLanes codes = load_8_bits(from);
  const IntLanes half_bits = ((codes & 0x80) << 8) | ((codes & 0x7f) << 7);
  const Lanes values = from_half_bits(half_bits) * 256.0f;
  const Lanes nan = broadcast(std::numeric_limits<float>::quiet_NaN());
  return values * values == 480.0f * 480.0f ? nan : values;
}

/// kLanes elements of a cache as floats: fp8 codes times their scale, all else as it is.
/// \tparam Stored  any float storage type
template <typename Stored>
inline Lanes load_elements(const Stored* from, float scale) {
  const Lanes values = load_stored(from);
  if constexpr (kIsFp8<Stored>) return values * scale;
  return values;
}

/// A row of stored elements as floats.
/// \tparam Stored  any float storage type
/// \param from     [size]
/// \param size     any
/// \param scale    of its head, for fp8
/// \param to       [size]
template <typename Stored>
void read_row(const std::byte* from, std::int64_t size, float scale, float* to) {
  const Stored* stored = reinterpret_cast<const Stored*>(from);
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) store(to + i, load_elements(stored + i, scale));
  for (; i < size; ++i) to[i] = cache_value<float>(stored[i], scale);
}

/// read_row for one stored type.
using RowReader = void (*)(const std::byte* from, std::int64_t size, float scale, float* to);

/// 2^x for x ≤ 0, −∞ or NaN: the bits of exact_exp2, in every lane.
inline Lanes exact_exp2_of(Lanes x) {
  const Lanes in_range = x < -126.0f ? broadcast(-126.0f) : x;
  const float round_to_integer = 12582912.0f;
  const Lanes n = (in_range + round_to_integer) - round_to_integer;
  const Lanes f = in_range - n;
  Lanes p = broadcast(0x1.3f906cp-13f);
  p = fma(p, f, broadcast(0x1.5f0a66p-10f));
  p = fma(p, f, broadcast(0x1.3b30b0p-7f));
  p = fma(p, f, broadcast(0x1.c6af78p-5f));
  p = fma(p, f, broadcast(0x1.ebfbd8p-3f));
  p = fma(p, f, broadcast(0x1.62e430p-1f));
  p = fma(p, f, broadcast(1.0f));
  // Unsigned, because a lane whose row does not see the key may hold anything, and wraps.
  const UintLanes exponent = (UintLanes) __builtin_convertvector(n, IntLanes) << 23;
  const Lanes power = (Lanes)((UintLanes)p + exponent);
  const Lanes small_is_zero = x < -126.0f ? broadcast(0.0f) : power;
  return x == x ? small_is_zero : x;
}

}  // namespace PAGELAB_WIDTH
}  // namespace pagelab::cpu_attn
