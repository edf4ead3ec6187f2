/// \file
/// From a product query · key to a softmax weight: the arithmetic of one score, the same in every
/// rung. What differs from rung to rung is who adds up the product.
#pragma once

#include <cstdint>

#include "gpu/device/keywords.h"
#include "gpu/kernels/paged_attention/params.h"
#include "gpu/kernels/paged_attention/query_row.h"
#include "reference/numerics/exact_math.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// The score of a key: scale, then soft cap, then bias.
/// \param params         the step
/// \param row            whose query
/// \param query_dot_key  Σ query[i] · key[i]
/// \param key_position   of the key in its request
__device__ inline float scaled_score(const PagedAttentionParams& params,
                                     const QueryRow& row,
                                     float query_dot_key,
                                     std::int64_t key_position) {
  float score = query_dot_key * params.scale;
  if (params.has_softcap) {
    score = params.logit_softcap * exact_tanh(score / params.logit_softcap);
  }
  if (params.alibi_slopes != nullptr) {
    const std::int64_t difference = row.position - key_position;
    const float distance = static_cast<float>(difference < 0 ? -difference : difference);
    const float bias = -params.alibi_slopes[row.head_idx] * distance;
    score = score + bias;
  }
  return score;
}

/// e^(score − m).
/// \param score  of a key
/// \param m      the row's maximum
__device__ inline float softmax_weight(float score, float m) {
  const float below_maximum = score - m;
  return exact_exp2(below_maximum * kLog2E);
}

/// The greater of two scores; a NaN score does not become the maximum.
/// \param score  of a key
/// \param m      the maximum so far
__device__ inline float larger(float score, float m) { return score > m ? score : m; }

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
