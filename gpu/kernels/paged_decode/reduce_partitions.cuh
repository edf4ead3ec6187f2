// The reduce of rungs 4 to 6 of paged_decode: what the partitions of each row found becomes its output.
//
// Problem  partition i of a row has m_i = max score, l_i = Σ exp(score − m_i) and acc_i = Σ exp(score −
//          m_i) · v over its keys. With m = max m_i: out = Σ exp(m_i − m) · acc_i / Σ exp(m_i − m) · l_i.
//          It is the merging of states of gpu/kernels/merge_states in its unnormalised form: dividing by
//          l once, at the end, costs no roundings, and m_i is exact where an LSE would be rounded.
// Shapes   maxima, sums [num_rows, partitions], outputs [num_rows, partitions, head_size_v]
//          out [num_tokens, num_query_heads, head_size_v], lse [num_query_heads, num_tokens]
// Mapping  thread block i → row t = i / heads, head h = i % heads; thread d → element d of the output
// Cost     head_size_v + 2 floats a partition; the weights are computed by every thread again.
// Order    over increasing partitions, from +0: l = chain of fma(weight, l_i, l), acc = chain of
//          fma(weight, acc_i, acc); the sink's term is added to l last. With one partition and no sink the
//          weight is 1, and l and acc are its own.
// Expects  every partition that holds a key between the first and the last that the row sees. The neutral
//          element of those without a visible key is m = −∞, l = 0, acc = 0: its weight is exp(−∞) = 0.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/kernels/paged_attention/query_row.h"
#include "gpu/kernels/paged_attention/score.h"
#include "gpu/kernels/paged_decode/cta_reduce.h"
#include "gpu/kernels/paged_decode/partitions.h"
#include "reference/numerics/exact_math.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

// What the scores of a partition are compared with: their maximum, or 0 where that is −∞, so that a score
// of −∞ weighs exp(−∞) = 0 here and only the reduce, which knows all partitions, sees ∞ − ∞.
__device__ inline float base_of(float m) { return m == float_from_bits(0xff800000u) ? 0.0f : m; }

// The keys of a partition that a row sees, from the first to the last.
__device__ inline KeyRange visible_part(const PagedAttentionParams& params,
                                        const QueryRow& row,
                                        std::int64_t first_position) {
  KeyRange visible = visible_range(params, row);
  const std::int64_t end_of_partition = first_position + kPartitionLen;
  if (visible.begin < first_position) visible.begin = first_position;
  if (visible.end > end_of_partition) visible.end = end_of_partition;
  return visible;
}

// static: one for each kernel file that includes this.
static __global__ void paged_decode_reduce(PagedAttentionParams params) {
  const PartitionStates states = partition_states(params);
  const std::int64_t row_idx = blockIdx.x;
  const std::int64_t head_idx = row_idx % params.num_query_heads;
  const std::int64_t token_idx = row_idx / params.num_query_heads;
  const QueryRow row = decode_row_of(params, token_idx, head_idx);
  const KeyRange visible = row.is_padding ? KeyRange{} : visible_range(params, row);
  const float minus_infinity = float_from_bits(0xff800000u);
  const float sink = params.sinks != nullptr ? params.sinks[head_idx] : minus_infinity;
  float* output = params.output + row_idx * params.head_size_v;
  float* lse = params.lse + head_idx * params.num_tokens + token_idx;

  const bool is_too_long = row.seq_len > params.max_seq_len;
  if (visible.begin >= visible.end || is_too_long) {
    const float element = is_too_long ? float_from_bits(0x7fffffffu) : 0.0f;
    for (std::int64_t d = threadIdx.x; d < params.head_size_v; d += kDecodeThreads) {
      output[d] = element;
    }
    const float lse_of_nothing = row.is_padding ? minus_infinity : sink;
    if (threadIdx.x == 0) *lse = is_too_long ? element : lse_of_nothing;
    return;
  }

  const std::int64_t first = visible.begin / kPartitionLen;
  const std::int64_t last = (visible.end - 1) / kPartitionLen;
  float m = minus_infinity;
  for (std::int64_t partition = first; partition <= last; ++partition) {
    m = larger(states.maxima[states.index(row_idx, partition)], m);
  }
  m = larger(sink, m);

  // The weights of up to 128 partitions at a time: a thread computes one, and all use it.
  __shared__ float weights[kDecodeThreads];
  __shared__ float sums[kDecodeThreads];
  const std::int64_t rounds = (params.head_size_v + kDecodeThreads - 1) / kDecodeThreads;
  for (std::int64_t round = 0; round < rounds; ++round) {
    const std::int64_t d = round * kDecodeThreads + threadIdx.x;
    float l = 0.0f;
    float acc = 0.0f;
    for (std::int64_t begin = first; begin <= last; begin += kDecodeThreads) {
      const std::int64_t own_partition = begin + threadIdx.x;
      if (own_partition <= last) {
        const std::int64_t index = states.index(row_idx, own_partition);
        weights[threadIdx.x] = softmax_weight(states.maxima[index], m);
        sums[threadIdx.x] = states.sums[index];
      }
      __syncthreads();
      const std::int64_t partitions_left = last + 1 - begin;
      const int num_here =
          static_cast<int>(partitions_left < kDecodeThreads ? partitions_left : kDecodeThreads);
      for (int i = 0; d < params.head_size_v && i < num_here; ++i) {
        l = fused_multiply_add(weights[i], sums[i], l);
        acc = fused_multiply_add(weights[i], states.output(row_idx, begin + i)[d], acc);
      }
      __syncthreads();
    }

    // Step 5: normalise
    if (d >= params.head_size_v) continue;
    if (params.sinks != nullptr) l = l + softmax_weight(sink, m);
    output[d] = canonical_nan(acc / l);
    if (d == 0) *lse = canonical_nan(m + exact_log(l));
  }
}

// Turns the workspace into output and LSE, for every row and head of the batch.
static inline void launch_paged_decode_reduce(const char* name,
                                              const PagedAttentionParams& params) {
  const std::int64_t num_rows = params.num_tokens * params.num_query_heads;
  launch(name, ctas_for(num_rows, 1), kDecodeThreads, paged_decode_reduce, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
