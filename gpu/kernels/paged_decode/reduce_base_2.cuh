// The reduce of paged_decode/7_tensor_cores: reduce_partitions.cuh in base 2.
//
// Problem  partition i of a row has m_i = the largest exponent of 2, l_i = Σ 2^(exponent − m_i) and acc_i = Σ
//          2^(exponent − m_i) · v over its keys. With m = max m_i: out = Σ 2^(m_i − m) · acc_i / Σ 2^(m_i − m)
//          · l_i, lse = m · ln 2 + ln of the divisor.
// Shapes   maxima, sums [num_rows, partitions], outputs [num_rows, partitions, head_size_v]
//          out [num_tokens, num_query_heads, head_size_v], lse [num_query_heads, num_tokens]
// Mapping  thread block i → row t = i / heads, head h = i % heads; thread d → element d of the output
// Order    that of reduce_partitions.cuh: over increasing partitions, from +0, the sink last.
// Expects  what that does. A row with an infinity or a NaN in it is computed again, key by key, as rungs 2 and
//          3 of paged_prefill do it: where float16 made 0 of a small weight, 0 · ∞ would not be what it should.
#pragma once

#include "gpu/device/ex2.h"
#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/device/shared_memory.h"
#include "gpu/kernels/paged_attention/exceptional_row.h"
#include "gpu/kernels/paged_attention/page_table.h"
#include "gpu/kernels/paged_attention/query_row.h"
#include "gpu/kernels/paged_decode/cta_reduce.h"
#include "gpu/kernels/paged_decode/partitions.h"
#include "reference/numerics/exact_math.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

// Up to the next multiple of four: nvcc reads the last weights of a row four at a time, whether there are so many or
// not.
PAGELAB_HD inline std::int64_t whole_fours(std::int64_t count) { return (count + 3) / 4 * 4; }

template <typename Query, typename Stored>
__global__ void __launch_bounds__(kDecodeThreads, 8)
    paged_decode_reduce_base_2(PagedAttentionParams params) {
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
  const int num_parts = static_cast<int>(last - first) + 1;
  // Each warp finds the maximum for itself; a weight and a sum a thread, then every thread reads all.
  float m = minus_infinity;
  for (int i = static_cast<int>(threadIdx.x) % 32; i < num_parts; i += 32) {
    m = larger(states.maxima[states.index(row_idx, first + i)], m);
  }
  m = larger(butterfly_larger(m), sink * kLog2E);
  float* const weights = dynamic_shared_memory<float>();                 // [partitions_per_row]
  float* const sums = weights + whole_fours(states.partitions_per_row);  // [partitions_per_row]
  for (int i = static_cast<int>(threadIdx.x); i < num_parts;
       i += static_cast<int>(kDecodeThreads)) {
    weights[i] = ex2_approx(states.maxima[states.index(row_idx, first + i)] - m);
    sums[i] = states.sums[states.index(row_idx, first + i)];
  }
  __syncthreads();
  float l = 0.0f;
  for (int i = 0; i < num_parts; ++i) l = fused_multiply_add(weights[i], sums[i], l);
  // What counts beside nothing, or has nothing that counts beside it, has the sink itself as LSE.
  const bool is_sink_alone = params.sinks != nullptr && l == 0.0f;
  if (params.sinks != nullptr) l = l + ex2_approx(sink * kLog2E - m);

  // x − x is 0, or NaN where x is not finite.
  float not_finite = (l - l) + (m - m);
  for (std::int64_t d = threadIdx.x; d < params.head_size_v; d += kDecodeThreads) {
    float acc = 0.0f;
    for (int i = 0; i < num_parts; ++i) {
      acc = fused_multiply_add(weights[i], states.output(row_idx, first + i)[d], acc);
    }
    not_finite = not_finite + (acc - acc);

    // Step 5: normalise
    output[d] = acc / l + 0.0f;  // + 0 makes +0 of −0
  }
  const bool is_exceptional = __syncthreads_or(not_finite != 0.0f || is_sink_alone ? 1 : 0) != 0;
  if (is_exceptional) {
    attend_exceptional_row<Query, Stored>(params, row, threadIdx.x, kDecodeThreads);
  } else if (threadIdx.x == 0) {
    *lse = fused_multiply_add(m, kLn2, exact_log(l));
  }
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
