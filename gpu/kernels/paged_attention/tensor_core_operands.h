/// \file
/// Queries, keys and values as operands of tensor cores, and the factor that makes exponents of 2 of their
/// products: what the tensor-core rungs of paged_prefill and paged_decode share.
///
/// Everything is in base 2: the weight of a score s is 2^(s · factor − m), one fma and one exponential, where
/// m is the largest s · factor. Without soft cap and bias, `factor` is scale · k_scale · log2 e and s is what
/// the tensor cores added up; with them s is the natural score and `factor` is log2 e.
#pragma once

#include <cstdint>

#include "gpu/device/keywords.h"
#include "gpu/device/mma.h"
#include "gpu/device/pack.h"
#include "gpu/kernels/paged_attention/params.h"
#include "reference/cache/cache_element.h"
#include "reference/numerics/exact_math.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// The mma of an operand type: d += a · b.
template <typename Operand>
__device__ __forceinline__ void multiply_add(float (&d)[4],
                                             const std::uint32_t (&a)[4],
                                             const std::uint32_t (&b)[2]) {
  if constexpr (kIsSame<Operand, BFloat16>) {
    mma_m16n8k16_bf16(d, a, b, d);
  } else {
    mma_m16n8k16_f16(d, a, b, d);
  }
}

/// Two cache elements as an mma's operands: those of 16 bits as they are, fp8 codes exactly, without their
/// scale.
template <typename Operand, typename Stored>
__device__ __forceinline__ std::uint32_t pair_of(Stored first, Stored second) {
  if constexpr (kIsSame<Operand, Stored>) {
    return static_cast<std::uint32_t>(second.bits) << 16 | first.bits;
  } else {
    return pack<Operand>(decode(first), decode(second));
  }
}

/// What turns a sum q · k into an exponent of 2, the same for all keys of a head.
struct ScoreFactor {
  bool has_options;  ///< soft cap or bias: scores are to be finished first
  float k_scale;     ///< of fp8 keys, for these
  float factor;      ///< from a finished score to base 2
};

/// \param params    the step
/// \param k_scale   of the KV head; 1 where the cache is not fp8
__device__ inline ScoreFactor score_factor_of(const PagedAttentionParams& params, float k_scale) {
  const float factor = params.scale * k_scale * kLog2E;
  // Hidden scores are −∞, which times 0 would be NaN.
  const bool is_ordinary = factor >= 0x1p-126f && factor < float_from_bits(0x7f800000u);
  if (params.has_softcap || params.alibi_slopes != nullptr || !is_ordinary) {
    return {true, k_scale, kLog2E};
  }
  return {false, k_scale, factor};
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
