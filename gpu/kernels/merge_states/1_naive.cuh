// merge_states, rung 1: one thread block a row and head.
//
// Problem  attention over some keys gave out_a and lse_a, over others out_b and lse_b. Over all of them, with
//          m = max(lse_a, lse_b) and w = exp(lse − m): out = w_a/(w_a + w_b) · out_a + w_b/(w_a + w_b) · out_b;
//          lse = m + ln(w_a + w_b). Only differences of LSEs are exponentiated, so nothing overflows.
// Shapes   out_a, out_b, out [num_tokens, num_query_heads, head_size_v]; LSEs [num_query_heads, num_tokens]
// Mapping  thread block i → token i / heads, head i % heads; thread d → elements d, d + 128, … of the output
// Cost     three floats moved an element; memory limits it. Every thread computes the weights again.
// Change   the first rung. paged_decode/reduce_partitions.cuh does the same with states that are not divided
//          yet, and any number of them.
// Order    as reference/attention/merge_states: w_a + w_b, then each share times its output, then their sum.
//          The bits are those of the reference in float. Symmetric: the sides may change places.
// Expects  natural logs. The neutral element is the empty set of keys: LSE −∞ (or +∞, as FlashAttention-2
//          reports it), whatever its output holds. It is left out, not weighed with zero: 0 · NaN is NaN. Of
//          two empty sides the result is zeros and −∞.
// Source   FlashInfer (Ye et al. 2025), section 2.2; vLLM v1/attention/ops/merge_attn_states.py.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/kernels/launch_checks.h"
#include "gpu/kernels/merge_states/params.h"
#include "gpu/kernels/paged_attention/score.h"
#include "reference/numerics/exact_math.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

// Whether a state is over any key at all.
__device__ inline bool has_keys(float lse) {
  return (bits_of(lse) & 0x7fffffffu) != 0x7f800000u;  // neither −∞ nor +∞
}

// static: a kernel that is no template has one definition, in one file.
static __global__ void merge_states_naive(MergeStatesParams params) {
  const std::int64_t row_idx = blockIdx.x;
  const std::int64_t head_idx = row_idx % params.num_query_heads;
  const std::int64_t token_idx = row_idx / params.num_query_heads;
  const std::int64_t lse_idx = head_idx * params.num_tokens + token_idx;

  // Step 1: the weights
  const float prefix_lse = params.prefix_lse[lse_idx];
  const float suffix_lse = params.suffix_lse[lse_idx];
  const bool has_prefix = has_keys(prefix_lse);
  const bool has_suffix = has_keys(suffix_lse);
  float m = float_from_bits(0xff800000u);
  if (has_prefix) m = larger(prefix_lse, m);
  if (has_suffix) m = larger(suffix_lse, m);
  const float prefix_weight = softmax_weight(prefix_lse, m);
  const float suffix_weight = softmax_weight(suffix_lse, m);
  const float sum = prefix_weight + suffix_weight;
  const float prefix_share = prefix_weight / sum;
  const float suffix_share = suffix_weight / sum;
  __syncthreads();  // all have read the LSEs, which thread 0 may overwrite

  // Step 2: merge the outputs
  for (std::int64_t d = threadIdx.x; d < params.head_size_v; d += blockDim.x) {
    const std::int64_t index = row_idx * params.head_size_v + d;
    float merged = 0.0f;
    if (has_prefix && has_suffix) {
      const float of_prefix = prefix_share * params.prefix_output[index];
      const float of_suffix = suffix_share * params.suffix_output[index];
      merged = canonical_nan(of_prefix + of_suffix);
    } else if (has_prefix) {
      merged = params.prefix_output[index];
    } else if (has_suffix) {
      merged = params.suffix_output[index];
    }
    params.output[index] = merged;
  }

  // Step 3: merge the LSEs
  if (threadIdx.x > 0) return;
  float merged_lse = float_from_bits(0xff800000u);
  if (has_prefix && has_suffix) {
    merged_lse = canonical_nan(m + exact_log(sum));
  } else if (has_prefix) {
    merged_lse = prefix_lse;
  } else if (has_suffix) {
    merged_lse = suffix_lse;
  }
  params.lse[lse_idx] = merged_lse;
}

// Merges all rows.
inline void launch_merge_states_naive(const MergeStatesParams& params) {
  const char* const name = "merge_states/1_naive";
  constexpr unsigned int kThreadsPerCta = 128;
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  require_range(name, "num_tokens", params.num_tokens, 0, kMost);
  require_range(name, "num_query_heads", params.num_query_heads, 1, kMost);
  require_range(name, "head_size_v", params.head_size_v, 1, kMost);
  const std::int64_t num_rows = params.num_tokens * params.num_query_heads;
  const std::int64_t num_elements = num_rows * params.head_size_v;
  require_array(name, "prefix_output", params.prefix_output, num_elements);
  require_array(name, "prefix_lse", params.prefix_lse, num_rows);
  require_array(name, "suffix_output", params.suffix_output, num_elements);
  require_array(name, "suffix_lse", params.suffix_lse, num_rows);
  require_array(name, "output", params.output, num_elements);
  require_array(name, "lse", params.lse, num_rows);
  if (num_rows == 0) return;
  launch(name, ctas_for(num_rows, 1), kThreadsPerCta, merge_states_naive, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
