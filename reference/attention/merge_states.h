/// \file
/// Merging partial attention: the results over two sets of keys, each with its log-sum-exp, give
/// the result over their union. Split keys, shared prefixes and cascades rest on it.
/// The neutral element is the empty set of keys: LSE −∞, whatever its output holds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/attention/lse.h"
#include "reference/tensor/tensor.h"

namespace pagelab {

/// Attention of one query row over some set of keys. The base of its logarithm is in the type: a
/// base-2 value does not get in without `to_natural()`.
/// \tparam Real  float or double
template <typename Real>
struct AttentionState {
  std::vector<Real> output;  ///< [head_size_v]
  LseNatural<Real> lse;  ///< −∞ for no keys; +∞ means the same (FlashAttention-2 reports it so)
};

/// The state over no keys.
/// \param head_size_v  elements of the output
template <typename Real>
AttentionState<Real> empty_state(std::int64_t head_size_v);

/// The state over both sets of keys. Symmetric, to the bit. An empty side is left out, not weighed
/// with zero, so the other side comes back unchanged, to the bit, whatever the empty one holds.
/// Of two empty sides the result is zeros and −∞.
/// \throws Error  if the outputs differ in length
/// \source        FlashInfer (Ye et al. 2025, arXiv 2501.01005), section 2.2; vLLM
///                v1/attention/ops/merge_attn_states.py
template <typename Real>
AttentionState<Real> merge_states(const AttentionState<Real>& a, const AttentionState<Real>& b);

/// The state over all the sets of keys, weighed against one maximum and added in the order given.
/// \param states  at least one
/// \throws Error  if there is none, or the outputs differ in length
template <typename Real>
AttentionState<Real> merge_states(std::span<const AttentionState<Real>> states);

/// Outputs and LSEs of a batch over one set of keys.
struct AttentionStates {
  Tensor output;  ///< [T, num_query_heads, head_size_v], float64 or float32
  Tensor lse;     ///< [num_query_heads, T], natural log, the same dtype
};

/// Row by row, merge_states of two batches, the prefix's states first.
/// \throws Error  if a shape or dtype differs
AttentionStates merge_states(const AttentionStates& prefix, const AttentionStates& suffix);

}  // namespace pagelab
