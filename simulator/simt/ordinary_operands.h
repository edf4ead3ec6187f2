/// \file
/// The operands of a tensor-core instruction made ready for tensor_core_ordinary.cpp: as floats, to be multiplied,
/// and their exponents by themselves, a byte each, to be added and compared.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "simulator/simt/tensor_core.h"

namespace pagelab::simt::ordinary {

inline constexpr int kBias = 127;                   ///< of float32's and bfloat16's exponents
inline constexpr int kBiasOfFloat16 = 15;           ///< of float16's
inline constexpr int kHighestOperandExponent = 25;  ///< of what is ordinary

/// A and B as floats, and the exponents of their numbers; zeros and subnormal bfloat16 have −127.
/// \tparam kDepth  16 or 8
template <int kDepth>
struct Operands {
  alignas(32) float a[16][kDepth];                  ///< by rows
  alignas(32) float b[kDepth][8];                   ///< by rows
  alignas(32) std::int8_t a_exponents[16][kDepth];  ///< by rows
  alignas(32) std::int8_t
      b_exponents[kDepth / 4][8][4];  ///< of rows 4 q to 4 q + 3, column by column
};

/// 32 bytes from anywhere.
inline __m256i load(const void* bytes) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(bytes));
}
/// 32 bytes to a multiple of 32.
inline void store(void* bytes, __m256i vector) {
  _mm256_store_si256(static_cast<__m256i*>(bytes), vector);
}
/// Eight 16-bit numbers from anywhere.
inline __m128i load_eight(const std::uint16_t* words) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(words));
}
/// Whether no bit is set.
inline bool is_all_zero(__m256i bits) { return _mm256_testz_si256(bits, bits) != 0; }

/// The exponent fields of sixteen 16-bit numbers, with float32's bias.
template <MmaInput kInput>
__m256i exponent_fields(__m256i numbers) {
  const __m256i magnitude = _mm256_and_si256(numbers, _mm256_set1_epi16(0x7fff));
  if constexpr (kInput == MmaInput::kBFloat16) return _mm256_srli_epi16(magnitude, 7);
  const __m256i field = _mm256_max_epi16(_mm256_srli_epi16(magnitude, 10), _mm256_set1_epi16(1));
  const __m256i rebiased = _mm256_add_epi16(field, _mm256_set1_epi16(kBias - kBiasOfFloat16));
  const __m256i is_zero = _mm256_cmpeq_epi16(magnitude, _mm256_setzero_si256());
  return _mm256_andnot_si256(is_zero, rebiased);
}

/// The values of eight 16-bit numbers.
template <MmaInput kInput>
__m256 floats_of(__m128i numbers) {
  if constexpr (kInput == MmaInput::kFloat16) return _mm256_cvtph_ps(numbers);
  // A bfloat16 is the upper half of a float32.
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(numbers), 16));
}

/// Exponents, as bytes.
inline __m256i without_bias(__m256i fields) {
  return _mm256_sub_epi8(fields, _mm256_set1_epi8(static_cast<char>(kBias)));
}

/// Not zero where an exponent field, a byte, is above what is ordinary.
template <MmaInput kInput>
__m256i excess_of_fields(__m256i fields) {
  // Float16 has none above 15 but that of NaN and infinity.
  constexpr int kHighest = kInput == MmaInput::kBFloat16 ? kHighestOperandExponent : kBiasOfFloat16;
  return _mm256_subs_epu8(fields, _mm256_set1_epi8(static_cast<char>(kBias + kHighest)));
}

/// Converts A. Returns the largest exponent fields, as bytes.
template <MmaInput kInput, int kDepth>
__m256i convert_a(const std::uint16_t (&a)[16][kDepth], Operands<kDepth>& operands) {
  const std::uint16_t* const numbers = &a[0][0];  // rows need not be told apart
  __m256i largest = _mm256_setzero_si256();
#pragma GCC unroll 1
  for (int index = 0; index < 16 * kDepth; index += 32) {
    float* const floats = &operands.a[0][0] + index;
#pragma GCC unroll 4
    for (int part = 0; part < 32; part += 8) {
      _mm256_store_ps(floats + part, floats_of<kInput>(load_eight(numbers + index + part)));
    }
    const __m256i lower = exponent_fields<kInput>(load(numbers + index));
    const __m256i upper = exponent_fields<kInput>(load(numbers + index + 16));
    // Packing works on halves of registers: their quarters end up as 0, 2, 1, 3.
    const __m256i fields = _mm256_permute4x64_epi64(_mm256_packus_epi16(lower, upper), 0b11011000);
    store(&operands.a_exponents[0][0] + index, without_bias(fields));
    largest = _mm256_max_epu8(largest, fields);
  }
  return largest;
}

/// Rows k and k + 1 of B, in pairs of 16 bits: a column's number in row k in the lower half.
inline __m256i pairs_of_rows(const std::uint16_t* row) {
  const __m128i even = load_eight(row);
  const __m128i odd = load_eight(row + 8);
  return _mm256_set_m128i(_mm_unpackhi_epi16(even, odd), _mm_unpacklo_epi16(even, odd));
}

/// Converts B, and returns the same of it.
template <MmaInput kInput, int kDepth>
__m256i convert_b(const std::uint16_t (&b)[kDepth][8], Operands<kDepth>& operands) {
  const __m256i two_and_two = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
  __m256i largest = _mm256_setzero_si256();
  for (int k = 0; k < kDepth; k += 4) {
#pragma GCC unroll 4
    for (int row = k; row < k + 4; ++row) {
      _mm256_store_ps(operands.b[row], floats_of<kInput>(load_eight(b[row])));
    }
    const __m256i lower = exponent_fields<kInput>(pairs_of_rows(b[k]));
    const __m256i upper = exponent_fields<kInput>(pairs_of_rows(b[k + 2]));
    const __m256i fields = _mm256_shuffle_epi8(_mm256_packus_epi16(lower, upper), two_and_two);
    store(operands.b_exponents[k / 4], without_bias(fields));
    largest = _mm256_max_epu8(largest, fields);
  }
  return largest;
}

/// Whether all magnitudes are zero or at least this one.
inline bool are_zero_or_at_least(std::uint16_t least, const std::uint16_t* numbers, int count) {
  __m256i smallest = _mm256_set1_epi16(-1);
  for (int index = 0; index < count; index += 16) {
    // Doubled, a number is without its sign; zero, less one, is the largest.
    const __m256i doubled = _mm256_slli_epi16(load(numbers + index), 1);
    smallest = _mm256_min_epu16(smallest, _mm256_sub_epi16(doubled, _mm256_set1_epi16(1)));
  }
  const __m256i bound = _mm256_set1_epi16(static_cast<short>(2 * least - 1));
  return _mm256_movemask_epi8(_mm256_cmpeq_epi16(_mm256_min_epu16(smallest, bound), bound)) == -1;
}

/// The same for float32.
inline bool are_zero_or_at_least(float least, const float (&numbers)[16][8]) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  __m256 are_between = _mm256_setzero_ps();
  for (const auto& row : numbers) {
    const __m256 magnitude = _mm256_andnot_ps(sign, _mm256_loadu_ps(row));
    const __m256 is_below = _mm256_cmp_ps(magnitude, _mm256_set1_ps(least), _CMP_LT_OQ);
    const __m256 is_not_zero = _mm256_cmp_ps(magnitude, _mm256_setzero_ps(), _CMP_NEQ_OQ);
    are_between = _mm256_or_ps(are_between, _mm256_and_ps(is_below, is_not_zero));
  }
  return _mm256_movemask_ps(are_between) == 0;
}

}  // namespace pagelab::simt::ordinary
