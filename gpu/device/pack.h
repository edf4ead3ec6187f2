/// \file
/// `pack`: two float32 numbers rounded to 16 bits, to nearest, ties to even, in one register: the first in
/// the lower half, as `mma` wants its operands (gpu/device/mma.h). NaN becomes 0x7fff.
///
///     const std::uint32_t both = pack<BFloat16>(lower, upper);
///
/// Source: PTX ISA, `cvt.rn.bf16x2.f32`, `cvt.rn.f16x2.f32`.
#pragma once

#include <cstdint>

#include "gpu/device/keywords.h"
#include "reference/cache/cache_element.h"
#include "reference/numerics/float_formats.h"
#include "reference/numerics/target.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

#if defined(__CUDACC__)

// On the GPU: PTX, one instruction.
template <typename Format>
__device__ __forceinline__ std::uint32_t pack(float lower, float upper) {
  std::uint32_t both;
  if constexpr (kIsSame<Format, BFloat16>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(upper), "f"(lower));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(upper), "f"(lower));
  }
  return both;
}

#else

/// Two numbers in one register.
/// \tparam Format  BFloat16 or Float16
/// \param lower    for the lower half
/// \param upper    for the upper half
template <typename Format>
inline std::uint32_t pack(float lower, float upper) {
  const std::uint32_t lower_half = round_to<Format>(static_cast<double>(lower)).bits;
  const std::uint32_t upper_half = round_to<Format>(static_cast<double>(upper)).bits;
  return (upper_half << 16) | lower_half;
}

#endif

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
