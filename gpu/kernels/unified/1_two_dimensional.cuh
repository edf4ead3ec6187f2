// unified, rung 1: one kernel for any mix of prefill and decode, a thread block a tile and KV head.
//
// Problem  out[t,h] = softmax(scale · query[t,h] · Kᵀ) · V over those keys of the token's request
//          that row t sees; lse[h,t] = ln Σ exp(score). Keys and values lie in a paged cache.
// Shapes   query [num_tokens, num_query_heads, head_size]
//          block_table [num_reqs, max_blocks_per_req]
//          key_cache [num_blocks, block_size, num_kv_heads, head_size], through strides
//          value_cache [num_blocks, block_size, num_kv_heads, head_size_v], through strides
//          out [num_tokens, num_query_heads, head_size_v], lse [num_query_heads, num_tokens]
// Mapping  thread block (x, y) → tile x of queries, KV head y: a grid of two dimensions. A tile has 16 rows,
//          each a query token and a head of the group; with 4 heads a group, 4 neighbouring tokens of one
//          request. A decode is a request with one token, whose tile is not full:
//
//            requests     r0: 5 prompt tokens        r1: 1     r2: 1        4 heads a group
//            tiles x      0: tokens 0 … 3   1: 4     2: 5      3: 6         (some may stay empty)
//            rows         16                4        4         4
//
//          The program finds its request by a binary search over query_start_loc: the grid follows from the
//          numbers of tokens and requests alone, and the host need not know who has how many. The thread
//          block walks the keys that any row sees, 32 at a time, from multiples of 32, whatever the block
//          size. Eight threads share a row: thread c takes keys c, c + 8, … and elements c, c + 8, ….
// Cost     per thread block, the keys and values of its request read once for all heads of the group and
//          BLOCK_Q tokens; five barriers a tile of keys. In a decode 16 − group rows of threads do nothing but
//          load, and a batch of few requests leaves most of a GPU idle, however long the contexts are.
// Change   paged_prefill/1_tiled.cuh has a thread block a query head: its 16 rows are 16 tokens, and the heads
//          of a group read the same keys each for itself. Here they are rows of one tile, so that a decode
//          batch, which has one token a request, shares its loads as well. On an H200 (one NVIDIA H200, 2026-11-30,
//          docs/measurements/2026-11-30-h200.txt; 32/8 heads of 128, bf16): 64 decodes at 1,024 tokens 0.91 ms instead of
//          4.0, 8 times 16 tokens at 4,096 4.5 instead of 6.1, prefill of 4 times 2,048 40 instead of 44.
// Order    that of paged_prefill/1_tiled.cuh, whose bits it has. Score: a chain of fma over the head. m and l
//          begin as sink and 1 (−∞ and 0 without one). For each tile of 32 keys, in ascending order: m over
//          its visible keys; sums times e^(m before − m), not at all if m has not changed; then l + p and
//          fma(p, v, acc) for each visible key in ascending order.
// Expects  a valid step: block ids within the cache for every position that some row sees. Heads of up
//          to 256 elements, up to 128 query heads a KV head.
// Source   vLLM, v1/attention/ops/triton_unified_attention.py, kernel_unified_attention (its 2-D form).
// Differs  float32 fma where Triton has tensor cores; rows that a group leaves over stay idle, where
//          Triton's compute rows of the next tile as well; a row without a visible key is 0 and −∞ or the sink.
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
#include "reference/cache/cache_element.h"
#include "reference/numerics/exact_math.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

template <typename Stored>
__global__ void unified_two_dimensional(PagedAttentionParams params) {
  constexpr std::int64_t kKeys = kUnifiedKeys;
  const std::int64_t group = group_of(params);
  const std::int64_t kv_head_idx = blockIdx.y;
  const QueryTile tile = query_tile_of(params, blockIdx.x, queries_per_tile(group));
  if (tile.num_rows == 0) return;

  // Which row this thread works for, and its part of every array.
  const std::int64_t rows = rows_per_tile(group);
  const std::int64_t row_idx = threadIdx.x / Unified::kThreadsPerRow;
  const std::int64_t part = threadIdx.x % Unified::kThreadsPerRow;
  const bool has_row = has_query(tile, group, row_idx);
  const QueryRow row = packed_row_of(params, tile, row_idx, kv_head_idx);
  const std::int64_t global_row = row.token_idx * params.num_query_heads + row.head_idx;
  const float minus_infinity = float_from_bits(0xff800000u);
  const float sink = params.sinks != nullptr ? params.sinks[row.head_idx] : minus_infinity;
  float* output = params.output + global_row * params.head_size_v;
  float* lse = params.lse + row.head_idx * params.num_tokens + row.token_idx;
  if (tile.is_padding) {
    if (!has_row) return;
    for (std::int64_t d = part; d < params.head_size_v; d += Unified::kThreadsPerRow) {
      output[d] = 0.0f;
    }
    if (part == 0) *lse = minus_infinity;
    return;
  }
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
  const KeyRange visible_keys = visible_keys_of(params, tile);
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

  // Step 5: normalise
  if (!has_row) return;
  const KeyRange visible = visible_range(params, row);
  if (visible.begin >= visible.end) {
    for (std::int64_t d = part; d < params.head_size_v; d += Unified::kThreadsPerRow) {
      output[d] = 0.0f;
    }
    if (part == 0) *lse = sink;
    return;
  }
  // Every key that it sees has a score of −∞: then −∞ − −∞ is what each weight is made of.
  if (m == minus_infinity) l = canonical_nan(m - m);
  for (std::int64_t d = part; d < params.head_size_v; d += Unified::kThreadsPerRow) {
    output[d] = canonical_nan(sums[d] / l);
  }
  if (part == 0) *lse = canonical_nan(m + exact_log(l));
}

// Attends for every row and head of the batch.
template <typename Query, typename Stored>
void launch_unified_two_dimensional(const PagedAttentionParams& params) {
  const char* const name = "unified/1_two_dimensional";
  require_taken(name, refusal_of_packed_tile<kUnifiedKeys>(params));
  if (params.num_tokens == 0) return;
  const std::int64_t group = group_of(params);
  const dim3 grid(ctas_for(num_query_tiles(params, queries_per_tile(group)), 1),
                  static_cast<unsigned int>(params.num_kv_heads));
  const std::int64_t num_threads = rows_per_tile(group) * Unified::kThreadsPerRow;
  launch(name, grid, static_cast<unsigned int>(num_threads), unified_two_dimensional<Stored>,
         with_dtypes<Query, Stored>(params),
         static_cast<std::size_t>(packed_tile_bytes(params, kUnifiedKeys)));
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
