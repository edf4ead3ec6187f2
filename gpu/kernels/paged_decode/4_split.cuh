// paged_decode, rung 4: the context in partitions, one thread block each, and a reduce.
//
// Problem  out[t,h] = softmax(scale · query[t,h] · Kᵀ) · V over those keys of the token's request
//          that row t sees; lse[h,t] = ln Σ exp(score). Keys and values lie in a paged cache.
// Shapes   query [num_tokens, num_query_heads, head_size]
//          block_table [num_reqs, max_blocks_per_req]
//          key_cache [num_blocks, block_size, num_kv_heads, head_size], through strides
//          value_cache [num_blocks, block_size, num_kv_heads, head_size_v], through strides
//          out [num_tokens, num_query_heads, head_size_v], lse [num_query_heads, num_tokens]
// Mapping  thread block i → head h = i % heads, then the partition, then row t. Each does with the 512
//          keys of its partition what rung 3 did with all of them, and leaves m, l and acc in the
//          workspace; a second kernel (reduce_partitions.cuh) merges the partitions of each row:
//
//            keys of a row   0 … 511 │ 512 … 1023 │ 1024 … seq_len − 1
//            thread blocks      0    │      1     │         2             → reduce → out, lse
//
// Cost     what rung 3 reads, and head_size_v + 2 floats a partition written and read again. 2 KiB of
//          shared memory whatever the length, so many thread blocks share a multiprocessor, and a single
//          row of 65,536 keys occupies 128 of them. This is version 2 of vLLM's PagedAttention, or split-KV.
// Change   rung 3's thread block took a row alone, however long, and needed shared memory for all scores.
//          64 × 8192 keys: 16.2 ms instead of 26.9 on an H200 (2026-11-30-h200-ladders.txt; shapes: 3_cta.cuh).
// Order    in a partition as in rung 3, with the partition's own maximum, which the sink does not join;
//          over partitions as in reduce_partitions.cuh. Rows of up to 512 keys without a sink have rung 3's
//          bits. A term of the sums passes at most 4 roundings more than in the canonical order (the weight
//          of its partition: a subtraction, a multiply, the exponential; the fma counts in the chain).
//          Partitions lie where they do for every batch and block size.
// Expects  a valid step: block ids within the cache for every position below seq_len. max_seq_len no
//          smaller than any of seq_lens: a longer row would be NaN. decode_workspace_floats() of workspace.
// Words    __shared__ and __syncthreads(): block_reduce/1_shared_memory.cuh.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/device/shared_memory.h"
#include "gpu/kernels/paged_attention/cache_place.h"
#include "gpu/kernels/paged_attention/dtypes_of_launch.h"
#include "gpu/kernels/paged_attention/page_table.h"
#include "gpu/kernels/paged_attention/params.h"
#include "gpu/kernels/paged_attention/query_element.h"
#include "gpu/kernels/paged_attention/query_row.h"
#include "gpu/kernels/paged_attention/score.h"
#include "gpu/kernels/paged_decode/cta_reduce.h"
#include "gpu/kernels/paged_decode/decode_checks.h"
#include "gpu/kernels/paged_decode/partitions.h"
#include "gpu/kernels/paged_decode/reduce_partitions.cuh"
#include "reference/cache/cache_element.h"
#include "reference/numerics/exact_math.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

template <typename Stored>
__global__ void paged_decode_split(PagedAttentionParams params) {
  __shared__ float warp_parts[kDecodeWarps];
  __shared__ float scores[kPartitionLen];         // of the partition's keys, then the weights
  float* query = dynamic_shared_memory<float>();  // [head_size]

  // Which head, partition and row this thread block owns, and which keys of it the row sees.
  const PartitionStates states = partition_states(params);
  const std::int64_t cta_idx = blockIdx.x;
  const std::int64_t head_idx = cta_idx % params.num_query_heads;
  const std::int64_t partition = cta_idx / params.num_query_heads % states.partitions_per_row;
  const std::int64_t token_idx = cta_idx / params.num_query_heads / states.partitions_per_row;
  const std::int64_t thread_idx = threadIdx.x;
  const std::int64_t warp_idx = thread_idx / kWarpSize;
  const std::int64_t lane_idx = thread_idx % kWarpSize;
  const QueryRow row = query_row_of(params, token_idx, head_idx);
  if (row.is_padding) return;
  const std::int64_t first_position = partition * kPartitionLen;
  const KeyRange visible = visible_part(params, row, first_position);
  if (visible.begin >= visible.end) return;  // the reduce knows, too

  // Its part of every array.
  const std::int64_t row_idx = token_idx * params.num_query_heads + head_idx;
  const Stored* keys =
      static_cast<const Stored*>(params.key_cache) + row.kv_head_idx * params.key_strides.head;
  const Stored* values =
      static_cast<const Stored*>(params.value_cache) + row.kv_head_idx * params.value_strides.head;
  const std::int32_t* block_table_row = block_table_row_of(params, row.req_idx);
  const float k_scale = params.k_scales[row.kv_head_idx];
  const float v_scale = params.v_scales[row.kv_head_idx];

  for (std::int64_t i = thread_idx; i < params.head_size; i += kDecodeThreads) {
    query[i] = query_element(params, row_idx * params.head_size + i);
  }
  __syncthreads();

  // A warp a key.
  for (std::int64_t position = visible.begin + warp_idx; position < visible.end;
       position += kDecodeWarps) {
    if (!sees(params, row, position)) continue;
    // Step 1: locate the block
    const CachePlace place = place_of(block_table_row, params.block_size, position);
    const Stored* key = keys + place.offset(params.key_strides);

    // Step 2: scores
    float query_dot_key = 0.0f;
    for (std::int64_t i = lane_idx; i < params.head_size; i += kWarpSize) {
      const float key_element = cache_value<float>(key[i], k_scale);
      query_dot_key = fused_multiply_add(query[i], key_element, query_dot_key);
    }
    query_dot_key = butterfly_sum(query_dot_key);
    if (lane_idx == 0) {
      scores[position - first_position] = scaled_score(params, row, query_dot_key, position);
    }
  }
  __syncthreads();

  // Step 3: softmax update
  // A thread a key, counted from the partition's first, so that the order is the same in every window.
  float m = float_from_bits(0xff800000u);
  for (std::int64_t position = first_position + thread_idx; position < visible.end;
       position += kDecodeThreads) {
    if (position < visible.begin || !sees(params, row, position)) continue;
    m = larger(scores[position - first_position], m);
  }
  m = cta_larger(m, warp_parts);
  const float base = base_of(m);
  float l = 0.0f;
  for (std::int64_t position = first_position + thread_idx; position < visible.end;
       position += kDecodeThreads) {
    if (position < visible.begin || !sees(params, row, position)) continue;
    const float p = softmax_weight(scores[position - first_position], base);
    scores[position - first_position] = p;
    l = l + p;
  }
  l = cta_sum(l, warp_parts);

  // A thread an element of the output; neighbours read neighbouring elements of a value.
  for (std::int64_t d = thread_idx; d < params.head_size_v; d += kDecodeThreads) {
    // Step 4: weighted values
    float acc = 0.0f;
    for (std::int64_t position = visible.begin; position < visible.end; ++position) {
      if (!sees(params, row, position)) continue;
      const CachePlace place = place_of(block_table_row, params.block_size, position);
      const Stored* value = values + place.offset(params.value_strides);
      const float value_element = cache_value<float>(value[d], v_scale);
      acc = fused_multiply_add(scores[position - first_position], value_element, acc);
    }

    states.output(row_idx, partition)[d] = acc;
  }

  // Step 5: nothing here, reduce_partitions.cuh normalises
  if (thread_idx == 0) {
    states.maxima[states.index(row_idx, partition)] = m;
    states.sums[states.index(row_idx, partition)] = l;
  }
}

// Attends for every row and head of the batch.
template <typename Query, typename Stored>
void launch_paged_decode_split(const PagedAttentionParams& params) {
  const char* const name = "paged_decode/4_split";
  require_max_seq_len(name, params);
  const std::int64_t num_rows = params.num_tokens * params.num_query_heads;
  if (num_rows == 0) return;
  require_workspace(name, params);
  const std::int64_t shared_bytes = params.head_size * 4;
  require_shared_bytes(name, params, shared_bytes + (kPartitionLen + kDecodeWarps) * 4,
                       "Rung 2 takes any head.");
  const std::int64_t num_states = num_rows * num_partitions(params.max_seq_len);
  if (num_states > 0) {
    launch(name, ctas_for(num_states, 1), kDecodeThreads, paged_decode_split<Stored>,
           with_dtypes<Query, Stored>(params), static_cast<std::size_t>(shared_bytes));
  }
  launch_paged_decode_reduce(name, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
