// unified, rung 2: the context in 16 segments, a thread block each, and a reduce.
//
// Problem  out[t,h] = softmax(scale · query[t,h] · Kᵀ) · V over those keys of the token's request
//          that row t sees; lse[h,t] = ln Σ exp(score). Keys and values lie in a paged cache.
// Shapes   query [num_tokens, num_query_heads, head_size]
//          block_table [num_reqs, max_blocks_per_req]
//          key_cache [num_blocks, block_size, num_kv_heads, head_size], through strides
//          value_cache [num_blocks, block_size, num_kv_heads, head_size_v], through strides
//          out [num_tokens, num_query_heads, head_size_v], lse [num_query_heads, num_tokens]
// Mapping  thread block (x, y, z) → tile x of queries and KV head y as in rung 1, and segment z of the
//          request's keys: a grid of three dimensions. A segment is a sixteenth of the sequence in whole tiles
//          of 16 keys. Each thread block does with its segment what rung 1 did with all keys, and leaves m, l
//          and acc in the workspace; a second kernel (reduce_segments.cuh) merges the segments of each row:
//
//            600 keys     0 … 47 │ 48 … 95 │ … │ 576 … 599           3 tiles of 16 a segment, the last one
//            segment z      0    │    1    │ … │     12      → reduce → out, lse       is not full; 13 … 15
//                                                                                      leave at once
//
// Cost     what rung 1 reads, and head_size_v + 2 floats a segment written and read again, also for segments
//          that a window hides. Sixteen times as many thread blocks, which is why it is for batches that are
//          too small to fill the GPU: TRITON_ATTN takes it for decodes of few requests alone.
// Change   rung 1's thread block took all keys of its rows. Here it takes a segment, and divides nothing.
//          That fills a GPU where there are few rows: 8 times 16 tokens at 4,096 take 2.9 ms instead of 4.5. Where rows fill
//          it already, it costs: 64 decodes at 1,024 1.10 ms instead of 0.91 (one NVIDIA H200, 2026-11-30,
//          docs/measurements/2026-11-30-h200.txt; 32/8 heads of 128, bf16).
// Order    in a segment as in rung 1, with tiles of 16 keys; segment 0 begins with the sink. Over segments as
//          in reduce_segments.cuh. The bits are not those of rung 1. They do not depend on the batch either:
//          where segments end follows from the request's own length.
// Expects  as rung 1, and unified_workspace_floats() of workspace.
// Source   vLLM, v1/attention/ops/triton_unified_attention.py, kernel_unified_attention (its 3-D form).
// Differs  as rung 1.
// Words    __syncthreads(), dynamic_shared_memory: paged_prefill/1_tiled.cuh.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/kernels/paged_attention/cache_place.h"
#include "gpu/kernels/paged_attention/dtypes_of_launch.h"
#include "gpu/kernels/paged_attention/page_table.h"
#include "gpu/kernels/paged_attention/params.h"
#include "gpu/kernels/paged_attention/query_element.h"
#include "gpu/kernels/paged_attention/score.h"
#include "gpu/kernels/unified/packed_tile.h"
#include "gpu/kernels/unified/reduce_segments.cuh"
#include "gpu/kernels/unified/segments.h"
#include "reference/cache/cache_element.h"
#include "reference/numerics/exact_math.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

template <typename Stored>
__global__ void unified_segmented(PagedAttentionParams params) {
  constexpr std::int64_t kKeys = kSegmentTileKeys;
  const std::int64_t group = group_of(params);
  const std::int64_t kv_head_idx = blockIdx.y;
  const QueryTile tile = query_tile_of(params, blockIdx.x, queries_per_tile(group));
  if (tile.num_rows == 0 || tile.is_padding) return;  // the reduce knows of padding, too
  const std::int64_t segment = blockIdx.z;
  const std::int64_t first_of_segment = segment * keys_per_segment(tile.seq_len);
  const std::int64_t end_of_segment = first_of_segment + keys_per_segment(tile.seq_len);
  if (first_of_segment >= tile.seq_len) return;

  // Which row this thread works for, and its part of every array.
  const std::int64_t rows = rows_per_tile(group);
  const std::int64_t row_idx = threadIdx.x / Unified::kThreadsPerRow;
  const std::int64_t part = threadIdx.x % Unified::kThreadsPerRow;
  const bool has_row = has_query(tile, group, row_idx);
  const QueryRow row = packed_row_of(params, tile, row_idx, kv_head_idx);
  const std::int64_t global_row = row.token_idx * params.num_query_heads + row.head_idx;
  const float minus_infinity = float_from_bits(0xff800000u);
  const bool has_sink = params.sinks != nullptr && segment == 0;
  const float sink = has_sink ? params.sinks[row.head_idx] : minus_infinity;
  const SegmentStates states = segment_states(params);
  const PackedTileMemory memory = packed_tile_memory(params, kKeys);
  float* query = memory.queries + row_idx * params.head_size;
  float* weights = memory.weights + row_idx * kKeys;
  float* sums = memory.sums + row_idx * params.head_size_v;
  const Stored* keys =
      static_cast<const Stored*>(params.key_cache) + kv_head_idx * params.key_strides.head;
  const Stored* values =
      static_cast<const Stored*>(params.value_cache) + kv_head_idx * params.value_strides.head;
  const std::int32_t* block_table_row = block_table_row_of(params, tile.req_idx);
  const float k_scale = params.k_scales[kv_head_idx];
  const float v_scale = params.v_scales[kv_head_idx];

  // The queries, once. A thread loads, and later sums, elements of its own row.
  if (has_row) {
    for (std::int64_t i = part; i < params.head_size; i += Unified::kThreadsPerRow) {
      query[i] = query_element(params, global_row * params.head_size + i);
    }
    for (std::int64_t d = part; d < params.head_size_v; d += Unified::kThreadsPerRow) {
      sums[d] = 0.0f;
    }
  }

  float m = sink;
  float l = sink == minus_infinity ? 0.0f : 1.0f;
  KeyRange visible_keys = visible_keys_of(params, tile);
  if (visible_keys.begin < first_of_segment) visible_keys.begin = first_of_segment;
  if (visible_keys.end > end_of_segment) visible_keys.end = end_of_segment;
  const std::int64_t first_of_all = visible_keys.begin / kKeys * kKeys;
  for (std::int64_t first_key = first_of_all; first_key < visible_keys.end; first_key += kKeys) {
    // Step 1: locate the block
    __syncthreads();  // before keys are overwritten that others may still read
    for (std::int64_t key_idx = row_idx; key_idx < kKeys; key_idx += rows) {
      const std::int64_t position = first_key + key_idx;
      if (position < visible_keys.begin || position >= visible_keys.end) continue;
      const CachePlace place = place_of(block_table_row, params.block_size, position);
      const Stored* key = keys + place.offset(params.key_strides);
      const Stored* value = values + place.offset(params.value_strides);
      for (std::int64_t i = part; i < params.head_size; i += Unified::kThreadsPerRow) {
        memory.keys[key_idx * (params.head_size + 1) + i] = cache_value<float>(key[i], k_scale);
      }
      for (std::int64_t d = part; d < params.head_size_v; d += Unified::kThreadsPerRow) {
        memory.values[key_idx * params.head_size_v + d] = cache_value<float>(value[d], v_scale);
      }
    }
    __syncthreads();

    // Step 2: scores
    for (std::int64_t key_idx = part; has_row && key_idx < kKeys;
         key_idx += Unified::kThreadsPerRow) {
      const std::int64_t position = first_key + key_idx;
      const bool exists = position >= visible_keys.begin && position < visible_keys.end;
      const bool is_visible = exists && sees(params, row, position);
      float score = minus_infinity;
      if (is_visible) {
        const float* key = memory.keys + key_idx * (params.head_size + 1);
        float query_dot_key = 0.0f;
        for (std::int64_t i = 0; i < params.head_size; ++i) {
          query_dot_key = fused_multiply_add(query[i], key[i], query_dot_key);
        }
        score = scaled_score(params, row, query_dot_key, position);
      }
      weights[key_idx] = score;
    }
    __syncthreads();

    // Step 3: softmax update
    // All threads of a row compute its m and l alike. The weights replace the scores.
    float largest = m;
    for (std::int64_t key_idx = 0; has_row && key_idx < kKeys; ++key_idx) {
      largest = larger(weights[key_idx], largest);
    }
    __syncthreads();  // before the scores are overwritten
    const bool is_unchanged = largest == m;
    const float rescaling = is_unchanged ? 1.0f : softmax_weight(m, largest);
    m = largest;
    for (std::int64_t key_idx = part; has_row && key_idx < kKeys;
         key_idx += Unified::kThreadsPerRow) {
      const std::int64_t position = first_key + key_idx;
      const bool exists = position >= visible_keys.begin && position < visible_keys.end;
      const bool is_visible = exists && sees(params, row, position);
      const float score = weights[key_idx];
      const float p = score == minus_infinity ? 0.0f : softmax_weight(score, m);
      weights[key_idx] = is_visible ? p : Unified::kHidden;
    }
    __syncthreads();
    l = l * rescaling;
    for (std::int64_t key_idx = 0; has_row && key_idx < kKeys; ++key_idx) {
      const float p = weights[key_idx];
      if (p == Unified::kHidden) continue;
      l = l + p;
    }

    // Step 4: weighted values
    for (std::int64_t d = part; has_row && d < params.head_size_v; d += Unified::kThreadsPerRow) {
      float acc = sums[d] * rescaling;
      for (std::int64_t key_idx = 0; key_idx < kKeys; ++key_idx) {
        const float p = weights[key_idx];
        if (p == Unified::kHidden) continue;
        const float value = memory.values[key_idx * params.head_size_v + d];
        acc = fused_multiply_add(p, value, acc);
      }
      sums[d] = acc;
    }
  }

  // Step 5: nothing here, reduce_segments.cuh normalises
  if (!has_row) return;
  float* segm_output = states.output(global_row, segment);
  for (std::int64_t d = part; d < params.head_size_v; d += Unified::kThreadsPerRow) {
    segm_output[d] = sums[d];
  }
  if (part == 0) {
    states.segm_max[states.index(global_row, segment)] = m;
    states.segm_expsum[states.index(global_row, segment)] = l;
  }
}

// Attends for every row and head of the batch.
template <typename Query, typename Stored>
void launch_unified_segmented(const PagedAttentionParams& params) {
  const char* const name = "unified/2_segmented";
  require_taken(name, refusal_of_packed_tile<kSegmentTileKeys>(params));
  if (params.num_tokens == 0) return;
  require_segment_workspace(name, params);
  const std::int64_t group = group_of(params);
  const dim3 grid(ctas_for(num_query_tiles(params, queries_per_tile(group)), 1),
                  static_cast<unsigned int>(params.num_kv_heads),
                  static_cast<unsigned int>(kSegments));
  const std::int64_t num_threads = rows_per_tile(group) * Unified::kThreadsPerRow;
  launch(name, grid, static_cast<unsigned int>(num_threads), unified_segmented<Stored>,
         with_dtypes<Query, Stored>(params),
         static_cast<std::size_t>(packed_tile_bytes(params, kSegmentTileKeys)));
  launch_reduce_segments(name, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
