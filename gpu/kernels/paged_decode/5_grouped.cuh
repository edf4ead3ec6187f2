// paged_decode, rung 5: the query heads of a KV head share its loads.
//
// Problem  out[t,h] = softmax(scale · query[t,h] · Kᵀ) · V over those keys of the token's request
//          that row t sees; lse[h,t] = ln Σ exp(score). Keys and values lie in a paged cache.
// Shapes   query [num_tokens, num_query_heads, head_size]
//          block_table [num_reqs, max_blocks_per_req]
//          key_cache [num_blocks, block_size, num_kv_heads, head_size], through strides
//          value_cache [num_blocks, block_size, num_kv_heads, head_size_v], through strides
//          out [num_tokens, num_query_heads, head_size_v], lse [num_query_heads, num_tokens]
// Mapping  thread block i → a pack of up to four query heads of one KV head, then the partition, then row
//          t. A group of more heads has several packs; a head that a pack lacks is stood in for by its
//          last one, whose results are the same and are stored once:
//
//            query heads   0 1 2 3 │ 4 5 6 ·   seven heads of KV head 0 in two packs
//            pack             0    │    1
//
//          As in rung 4, but an element of a key, once loaded, is multiplied with all queries of the pack,
//          and an element of a value with all their weights.
// Cost     with four heads a group a quarter of what rung 4 reads: each key and value of a KV head once a
//          row. Now the loads are too few and too short to keep memory busy: each is waited for.
// Change   rung 4's thread block served one query head, and those of a group read the same keys and values
//          each for itself (from the L2 cache, where they were lucky). 64 × 8192 keys: 6.8 ms instead
//          of 16.2 on an H200 (2026-11-30-h200-ladders.txt; shapes: 3_cta.cuh).
// Order    rung 4's: the same bits.
// Expects  a valid step: block ids within the cache for every position below seq_len. max_seq_len no
//          smaller than any of seq_lens: a longer row would be NaN. decode_workspace_floats() of workspace.
// Words    PAGELAB_UNROLL: gpu/device/unroll.h.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/device/shared_memory.h"
#include "gpu/device/unroll.h"
#include "gpu/kernels/paged_attention/cache_place.h"
#include "gpu/kernels/paged_attention/dtypes_of_launch.h"
#include "gpu/kernels/paged_attention/page_table.h"
#include "gpu/kernels/paged_attention/params.h"
#include "gpu/kernels/paged_attention/query_element.h"
#include "gpu/kernels/paged_attention/query_row.h"
#include "gpu/kernels/paged_attention/score.h"
#include "gpu/kernels/paged_decode/cta_reduce.h"
#include "gpu/kernels/paged_decode/decode_checks.h"
#include "gpu/kernels/paged_decode/head_pack.h"
#include "gpu/kernels/paged_decode/partitions.h"
#include "gpu/kernels/paged_decode/reduce_partitions.cuh"
#include "reference/cache/cache_element.h"
#include "reference/numerics/exact_math.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

// Query heads that share the loads of a thread block: accumulators of a thread.
inline constexpr int kHeadsPerPack = 4;

template <typename Stored>
__global__ void paged_decode_grouped(PagedAttentionParams params) {
  __shared__ float warp_parts[kDecodeWarps];
  __shared__ float scores[kPartitionLen]
                         [kHeadsPerPack];           // of the partition's keys, then the weights
  float* queries = dynamic_shared_memory<float>();  // [kHeadsPerPack, head_size]

  // Which heads, partition and row this thread block owns, and which keys of it the row sees.
  const PartitionStates states = partition_states(params);
  const std::int64_t cta_idx = blockIdx.x;
  const std::int64_t packs_per_row = num_packs(params, kHeadsPerPack);
  const HeadPack pack = head_pack(params, kHeadsPerPack, cta_idx % packs_per_row);
  const std::int64_t partition = cta_idx / packs_per_row % states.partitions_per_row;
  const std::int64_t token_idx = cta_idx / packs_per_row / states.partitions_per_row;
  const std::int64_t thread_idx = threadIdx.x;
  const std::int64_t warp_idx = thread_idx / kWarpSize;
  const std::int64_t lane_idx = thread_idx % kWarpSize;
  QueryRow row = query_row_of(params, token_idx, pack.first_head_idx);
  if (row.is_padding) return;
  const std::int64_t first_position = partition * kPartitionLen;
  const KeyRange visible = visible_part(params, row, first_position);
  if (visible.begin >= visible.end) return;  // the reduce knows, too

  // Its part of every array.
  const Stored* keys =
      static_cast<const Stored*>(params.key_cache) + row.kv_head_idx * params.key_strides.head;
  const Stored* values =
      static_cast<const Stored*>(params.value_cache) + row.kv_head_idx * params.value_strides.head;
  const std::int32_t* block_table_row = block_table_row_of(params, row.req_idx);
  const float k_scale = params.k_scales[row.kv_head_idx];
  const float v_scale = params.v_scales[row.kv_head_idx];

  for (int h = 0; h < kHeadsPerPack; ++h) {
    const std::int64_t row_idx = token_idx * params.num_query_heads + pack.head_idx(h);
    for (std::int64_t i = thread_idx; i < params.head_size; i += kDecodeThreads) {
      queries[h * params.head_size + i] = query_element(params, row_idx * params.head_size + i);
    }
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
    float query_dot_key[kHeadsPerPack] = {};
    for (std::int64_t i = lane_idx; i < params.head_size; i += kWarpSize) {
      const float key_element = cache_value<float>(key[i], k_scale);
      PAGELAB_UNROLL
      for (int h = 0; h < kHeadsPerPack; ++h) {
        const float query_element = queries[h * params.head_size + i];
        query_dot_key[h] = fused_multiply_add(query_element, key_element, query_dot_key[h]);
      }
    }
    PAGELAB_UNROLL
    for (int h = 0; h < kHeadsPerPack; ++h) {
      const float sum = butterfly_sum(query_dot_key[h]);
      row.head_idx = pack.head_idx(h);
      const float score = scaled_score(params, row, sum, position);
      if (lane_idx == 0) scores[position - first_position][h] = score;
    }
  }
  __syncthreads();

  // Step 3: softmax update
  // One head after the other; a thread a key, counted from the partition's first, so that the order is the
  // same in every window.
  for (int h = 0; h < pack.num_heads; ++h) {
    float m = float_from_bits(0xff800000u);
    for (std::int64_t position = first_position + thread_idx; position < visible.end;
         position += kDecodeThreads) {
      if (position < visible.begin || !sees(params, row, position)) continue;
      m = larger(scores[position - first_position][h], m);
    }
    m = cta_larger(m, warp_parts);
    const float base = base_of(m);
    float l = 0.0f;
    for (std::int64_t position = first_position + thread_idx; position < visible.end;
         position += kDecodeThreads) {
      if (position < visible.begin || !sees(params, row, position)) continue;
      const float p = softmax_weight(scores[position - first_position][h], base);
      scores[position - first_position][h] = p;
      l = l + p;
    }
    l = cta_sum(l, warp_parts);
    if (thread_idx == 0) {
      const std::int64_t row_idx = token_idx * params.num_query_heads + pack.head_idx(h);
      states.maxima[states.index(row_idx, partition)] = m;
      states.sums[states.index(row_idx, partition)] = l;
    }
  }

  // A thread an element of the output; neighbours read neighbouring elements of a value.
  for (std::int64_t d = thread_idx; d < params.head_size_v; d += kDecodeThreads) {
    // Step 4: weighted values
    float acc[kHeadsPerPack] = {};
    for (std::int64_t position = visible.begin; position < visible.end; ++position) {
      if (!sees(params, row, position)) continue;
      const CachePlace place = place_of(block_table_row, params.block_size, position);
      const Stored* value = values + place.offset(params.value_strides);
      const float value_element = cache_value<float>(value[d], v_scale);
      PAGELAB_UNROLL
      for (int h = 0; h < kHeadsPerPack; ++h) {
        const float p = scores[position - first_position][h];
        acc[h] = fused_multiply_add(p, value_element, acc[h]);
      }
    }
    PAGELAB_UNROLL
    for (int h = 0; h < kHeadsPerPack; ++h) {
      if (h >= pack.num_heads) continue;
      const std::int64_t row_idx = token_idx * params.num_query_heads + pack.head_idx(h);
      states.output(row_idx, partition)[d] = acc[h];
    }
  }
  // Step 5: nothing here, reduce_partitions.cuh normalises
}

// Attends for every row and head of the batch.
template <typename Query, typename Stored>
void launch_paged_decode_grouped(const PagedAttentionParams& params) {
  const char* const name = "paged_decode/5_grouped";
  require_max_seq_len(name, params);
  const std::int64_t num_rows = params.num_tokens * params.num_query_heads;
  if (num_rows == 0) return;
  require_workspace(name, params);
  const std::int64_t shared_bytes = kHeadsPerPack * params.head_size * 4;
  require_shared_bytes(name, params,
                       shared_bytes + (kHeadsPerPack * kPartitionLen + kDecodeWarps) * 4,
                       "Rung 2 takes any head.");
  const std::int64_t num_ctas =
      params.num_tokens * num_packs(params, kHeadsPerPack) * num_partitions(params.max_seq_len);
  if (num_ctas > 0) {
    launch(name, ctas_for(num_ctas, 1), kDecodeThreads, paged_decode_grouped<Stored>,
           with_dtypes<Query, Stored>(params), static_cast<std::size_t>(shared_bytes));
  }
  launch_paged_decode_reduce(name, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
