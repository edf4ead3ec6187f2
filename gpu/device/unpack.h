/// \file
/// `unpack`: 16 bytes of a cache as floats: 4 of float32, 8 of a 16-bit type, 16 of fp8. Every value of
/// those types is a float, so nothing is rounded, and every way to compute it gives the same number.
///
///     float elements[8];
///     unpack<BFloat16>(chunk, elements);
///
/// bfloat16 is the upper half of a float: a shift, or a mask, puts it there, on every target. For the
/// others the GPU has instructions, which take one or two elements, where integer arithmetic would take a
/// dozen steps an element:
///
///     cvt.f32.f16          float16 → float32
///     cvt.rn.f16x2.e4m3x2  two fp8 (e4m3) → two float16, on Ada and later
///     fp8 (e5m2)           is the upper half of a float16
///
/// A NaN's payload is not defined here; whoever compares bits calls canonical_nan().
///
/// Source: PTX ISA, `cvt`.
#pragma once

#include <cstdint>

#include "gpu/device/keywords.h"
#include "gpu/device/unroll.h"
#include "reference/numerics/float_formats.h"
#include "reference/numerics/target.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// Elements in 16 bytes.
template <typename Stored>
inline constexpr int kElementsPer16Bytes = static_cast<int>(16 / sizeof(Stored));

#if defined(__CUDACC__)

// On the GPU: PTX.
__device__ __forceinline__ float float_of_half(std::uint32_t half) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<std::uint16_t>(half)));
  return value;
}
__device__ __forceinline__ std::uint32_t two_halves_of_e4m3(std::uint32_t two_codes) {
#if __CUDA_ARCH__ >= 890
  std::uint32_t halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<std::uint16_t>(two_codes)));
  return halves;
#else
  const auto half_of = [](std::uint32_t code) {
    const Fp8E4M3 stored{static_cast<std::uint8_t>(code)};
    return static_cast<std::uint32_t>(round_to<Float16>(load_as<double>(stored)).bits);
  };
  return half_of(two_codes & 0xffu) | half_of(two_codes >> 8) << 16;
#endif
}

#else

/// A float16 as a float.
/// \param half  its bits
inline float float_of_half(std::uint32_t half) {
  return load_as<float>(Float16{static_cast<std::uint16_t>(half)});
}
/// Two fp8 (e4m3) codes as two float16, the lower in the lower half.
inline std::uint32_t two_halves_of_e4m3(std::uint32_t two_codes) {
  const auto half_of = [](std::uint32_t code) {
    const Fp8E4M3 stored{static_cast<std::uint8_t>(code)};
    return static_cast<std::uint32_t>(round_to<Float16>(load_as<double>(stored)).bits);
  };
  return half_of(two_codes & 0xffu) | half_of(two_codes >> 8) << 16;
}

#endif

/// The elements of four bytes.
/// \tparam Stored   float, Float16, BFloat16, Fp8E4M3 or Fp8E5M2
/// \param word      the first element is in the lowest bits
/// \param elements  [4 / sizeof(Stored)]
template <typename Stored>
__device__ __forceinline__ void unpack_word(std::uint32_t word, float* elements);

/// \cond
template <>
__device__ __forceinline__ void unpack_word<float>(std::uint32_t word, float* elements) {
  elements[0] = float_from_bits(word);
}
template <>
__device__ __forceinline__ void unpack_word<BFloat16>(std::uint32_t word, float* elements) {
  elements[0] = float_from_bits(word << 16);
  elements[1] = float_from_bits(word & 0xffff0000u);
}
template <>
__device__ __forceinline__ void unpack_word<Float16>(std::uint32_t word, float* elements) {
  elements[0] = float_of_half(word & 0xffffu);
  elements[1] = float_of_half(word >> 16);
}
template <>
__device__ __forceinline__ void unpack_word<Fp8E4M3>(std::uint32_t word, float* elements) {
  const std::uint32_t lower = two_halves_of_e4m3(word & 0xffffu);
  const std::uint32_t upper = two_halves_of_e4m3(word >> 16);
  elements[0] = float_of_half(lower & 0xffffu);
  elements[1] = float_of_half(lower >> 16);
  elements[2] = float_of_half(upper & 0xffffu);
  elements[3] = float_of_half(upper >> 16);
}
template <>
__device__ __forceinline__ void unpack_word<Fp8E5M2>(std::uint32_t word, float* elements) {
  elements[0] = float_of_half(word << 8 & 0xff00u);
  elements[1] = float_of_half(word & 0xff00u);
  elements[2] = float_of_half(word >> 8 & 0xff00u);
  elements[3] = float_of_half(word >> 16 & 0xff00u);
}
/// \endcond

/// The elements of 16 bytes.
/// \tparam Stored   float, Float16, BFloat16, Fp8E4M3 or Fp8E5M2
/// \param chunk     16 bytes of the cache
/// \param elements  [kElementsPer16Bytes<Stored>]
template <typename Stored>
__device__ __forceinline__ void unpack(uint4 chunk, float* elements) {
  constexpr int kPerWord = kElementsPer16Bytes<Stored> / 4;
  unpack_word<Stored>(chunk.x, elements);
  unpack_word<Stored>(chunk.y, elements + kPerWord);
  unpack_word<Stored>(chunk.z, elements + 2 * kPerWord);
  unpack_word<Stored>(chunk.w, elements + 3 * kPerWord);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
