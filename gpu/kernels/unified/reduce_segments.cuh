// The reduce of rung 2 of unified: what the segments of each row found becomes its output.
//
// Problem  segment i of a row has m_i = max score, l_i = Σ exp(score − m_i) and acc_i = Σ exp(score −
//          m_i) · v over its keys. With m = max m_i: out = Σ exp(m_i − m) · acc_i / Σ exp(m_i − m) · l_i.
// Shapes   segm_max, segm_expsum [num_rows, segments], segm_output [num_rows, segments, head_size_v]
//          out [num_tokens, num_query_heads, head_size_v], lse [num_query_heads, num_tokens]
// Mapping  thread block (t, h) → row t, head h; thread d → elements d, d + 128, … of the output
// Cost     head_size_v + 2 floats a segment; the weights are computed by every thread again.
// Order    over increasing segments, from +0: l = chain of fma(weight, l_i, l), acc = chain of
//          fma(weight, acc_i, acc). The sink is in segment 0 already. A segment in which the row sees no key
//          has m = −∞, l = 0, acc = 0: its weight is exp(−∞) = 0, and it changes no bit.
// Expects  a state of each segment that begins before the end of the sequence.
// Source   vLLM, v1/attention/ops/triton_unified_attention.py, reduce_segments.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/kernels/paged_attention/query_row.h"
#include "gpu/kernels/paged_attention/score.h"
#include "gpu/kernels/unified/segments.h"
#include "reference/numerics/exact_math.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// Threads of a thread block of the reduce.
inline constexpr unsigned int kReduceThreads = 128;

// static: one for each kernel file that includes this.
static __global__ void unified_reduce_segments(PagedAttentionParams params) {
  const SegmentStates states = segment_states(params);
  const std::int64_t token_idx = blockIdx.x;
  const std::int64_t head_idx = blockIdx.y;
  const std::int64_t row_idx = token_idx * params.num_query_heads + head_idx;
  const QueryRow row = query_row_of(params, token_idx, head_idx);
  const KeyRange visible = row.is_padding ? KeyRange{} : visible_range(params, row);
  const float minus_infinity = float_from_bits(0xff800000u);
  const float sink = params.sinks != nullptr ? params.sinks[head_idx] : minus_infinity;
  float* output = params.output + row_idx * params.head_size_v;
  float* lse = params.lse + head_idx * params.num_tokens + token_idx;
  if (visible.begin >= visible.end) {
    for (std::int64_t d = threadIdx.x; d < params.head_size_v; d += kReduceThreads) {
      output[d] = 0.0f;
    }
    if (threadIdx.x == 0) *lse = row.is_padding ? minus_infinity : sink;
    return;
  }

  const std::int64_t num_segments = num_active_segments(row.seq_len);
  float m = minus_infinity;
  for (std::int64_t segment = 0; segment < num_segments; ++segment) {
    m = larger(states.segm_max[states.index(row_idx, segment)], m);
  }
  for (std::int64_t d = threadIdx.x; d < params.head_size_v; d += kReduceThreads) {
    float l = 0.0f;
    float acc = 0.0f;
    for (std::int64_t segment = 0; segment < num_segments; ++segment) {
      const std::int64_t index = states.index(row_idx, segment);
      const float weight = softmax_weight(states.segm_max[index], m);
      l = fused_multiply_add(weight, states.segm_expsum[index], l);
      acc = fused_multiply_add(weight, states.output(row_idx, segment)[d], acc);
    }

    // Step 5: normalise
    output[d] = canonical_nan(acc / l);
    if (d == 0) *lse = canonical_nan(m + exact_log(l));
  }
}

// Turns the workspace into output and LSE, for every row and head of the batch.
static inline void launch_reduce_segments(const char* name, const PagedAttentionParams& params) {
  const dim3 grid(ctas_for(params.num_tokens, 1),
                  static_cast<unsigned int>(params.num_query_heads));
  launch(name, grid, kReduceThreads, unified_reduce_segments, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
