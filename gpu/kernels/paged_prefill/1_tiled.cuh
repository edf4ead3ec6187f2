// paged_prefill, rung 1: a tile of queries shares tiles of keys in shared memory.
//
// Problem  out[t,h] = softmax(scale · query[t,h] · Kᵀ) · V over those keys of the token's request
//          that row t sees; lse[h,t] = ln Σ exp(score). Keys and values lie in a paged cache.
// Shapes   query [num_tokens, num_query_heads, head_size]
//          block_table [num_reqs, max_blocks_per_req]
//          key_cache [num_blocks, block_size, num_kv_heads, head_size], through strides
//          value_cache [num_blocks, block_size, num_kv_heads, head_size_v], through strides
//          out [num_tokens, num_query_heads, head_size_v], lse [num_query_heads, num_tokens]
// Mapping  thread block → 16 neighbouring queries of one request, for one head. It walks the keys that
//          any of them sees, 32 at a time, from multiples of 32. Eight threads share a row: thread c of
//          row r takes keys c, c + 8, … of a tile and elements c, c + 8, … of the output:
//
//                    keys 0 … 31  32 … 63  64 … 95            a causal request of 96 tokens:
//          rows  0 … 15   ◣                                   ■ every row sees every key
//          rows 16 … 31   ◣                                   ◣ some do not: a mask
//          rows 32 … 47   ■        ◣                          nothing: the tile is not visited
//          rows 80 … 95   ■        ■        ◣
//
// Cost     per thread block, seq_len keys and values read once for 16 rows, where paged_decode reads
//          them once a row; four barriers a tile. All arithmetic is float32, one fma at a time: this
//          limits it.
// Change   paged_decode has a row a warp, and two passes over the keys: the first for the maximum. Here
//          it is one pass, because keys that were loaded for 16 rows are not to be loaded twice: softmax
//          goes online. When a tile has a greater maximum, all sums so far are multiplied by
//          e^(old − new). A prefill of 16,384 tokens (causal, 32 heads of 128, 8 KV heads, bfloat16) runs
//          at 3.2 TFLOP/s on an H200 (docs/measurements/2026-11-29-h200-decode-and-prefill.txt).
// Order    score: a chain of fma over the head. m and l begin as sink and 1 (−∞ and 0 without one). For
//          each tile of 32 keys, in ascending order: m over its visible keys; sums times
//          e^(m before − m), not at all if m has not changed; then l + p and fma(p, v, acc) for each
//          visible key in ascending order. Which rows share a tile changes no bit: a hidden key adds
//          nothing.
// Expects  a valid step: block ids within the cache for every position that some row sees. Heads of up
//          to 256 elements.
// Words    __syncthreads() waits for all threads of the thread block; shared memory written before it is
//          seen after it. dynamic_shared_memory: gpu/device/shared_memory.h.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/device/shared_memory.h"
#include "gpu/kernels/launch_checks.h"
#include "gpu/kernels/paged_attention/page_table.h"
#include "gpu/kernels/paged_attention/params.h"
#include "gpu/kernels/paged_attention/score.h"
#include "gpu/kernels/paged_prefill/head_sizes.h"
#include "gpu/kernels/paged_prefill/query_tile.h"
#include "reference/cache/cache_element.h"
#include "reference/numerics/exact_math.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// The constants of rung 1.
struct PrefillTiled {
  static constexpr std::int64_t kQueries = 16;       ///< of a tile
  static constexpr std::int64_t kKeys = 32;          ///< of a tile; then the sums are rescaled
  static constexpr std::int64_t kThreadsPerRow = 8;  ///< of a query
  static constexpr unsigned int kThreadsPerCta = kQueries * kThreadsPerRow;  ///< a row each eight
  static constexpr float kHidden = -1.0f;  ///< in the place of a weight, which is never negative
};

/// A thread block's shared memory. Rows of keys are one element longer, so that threads that read the same
/// element of neighbouring keys find it in different banks.
struct PrefillTiledMemory {
  float* queries;  ///< [kQueries, head_size]
  float* keys;     ///< [kKeys, head_size + 1]
  float* values;   ///< [kKeys, head_size_v]
  float* weights;  ///< [kQueries, kKeys] scores, then weights
  float* sums;     ///< [kQueries, head_size_v] acc, not yet divided by l
};

inline std::size_t bytes_of_prefill_tiled(const PagedAttentionParams& params) {
  using Rung = PrefillTiled;
  const std::int64_t elements =
      Rung::kQueries * (params.head_size + Rung::kKeys + params.head_size_v) +
      Rung::kKeys * (params.head_size + 1 + params.head_size_v);
  return static_cast<std::size_t>(elements) * sizeof(float);
}

__device__ inline PrefillTiledMemory prefill_tiled_memory(const PagedAttentionParams& params) {
  using Rung = PrefillTiled;
  PrefillTiledMemory memory;
  memory.queries = dynamic_shared_memory<float>();
  memory.keys = memory.queries + Rung::kQueries * params.head_size;
  memory.values = memory.keys + Rung::kKeys * (params.head_size + 1);
  memory.weights = memory.values + Rung::kKeys * params.head_size_v;
  memory.sums = memory.weights + Rung::kQueries * Rung::kKeys;
  return memory;
}

template <typename Query, typename Stored>
__global__ void paged_prefill_tiled(PagedAttentionParams params) {
  using Rung = PrefillTiled;
  const std::int64_t head_idx = blockIdx.x % params.num_query_heads;
  const std::int64_t tile_idx = blockIdx.x / params.num_query_heads;
  const QueryTile tile = query_tile_of(params, tile_idx, Rung::kQueries);
  if (tile.num_rows == 0) return;

  // Which row this thread works for, and its part of every array.
  const std::int64_t row_idx = threadIdx.x / Rung::kThreadsPerRow;
  const std::int64_t part = threadIdx.x % Rung::kThreadsPerRow;
  const bool has_row = row_idx < tile.num_rows;
  const QueryRow row = query_row_of(params, tile, row_idx, head_idx);
  const float minus_infinity = float_from_bits(0xff800000u);
  const float sink = params.sinks != nullptr ? params.sinks[head_idx] : minus_infinity;
  float* output =
      params.output + (row.token_idx * params.num_query_heads + head_idx) * params.head_size_v;
  float* lse = params.lse + head_idx * params.num_tokens + row.token_idx;
  if (tile.is_padding) {
    if (!has_row) return;
    for (std::int64_t d = part; d < params.head_size_v; d += Rung::kThreadsPerRow) output[d] = 0.0f;
    if (part == 0) *lse = minus_infinity;
    return;
  }
  const PrefillTiledMemory memory = prefill_tiled_memory(params);
  const float* query = memory.queries + row_idx * params.head_size;
  float* weights = memory.weights + row_idx * Rung::kKeys;
  float* sums = memory.sums + row_idx * params.head_size_v;
  const Stored* keys =
      static_cast<const Stored*>(params.key_cache) + row.kv_head_idx * params.key_strides.head;
  const Stored* values =
      static_cast<const Stored*>(params.value_cache) + row.kv_head_idx * params.value_strides.head;
  const std::int32_t* block_table_row = block_table_row_of(params, tile.req_idx);
  const float k_scale = params.k_scales[row.kv_head_idx];
  const float v_scale = params.v_scales[row.kv_head_idx];

  // The queries, once. A thread loads, and later sums, elements of its own row.
  if (has_row) {
    const Query* global_query =
        static_cast<const Query*>(params.query) +
        (row.token_idx * params.num_query_heads + head_idx) * params.head_size;
    for (std::int64_t i = part; i < params.head_size; i += Rung::kThreadsPerRow) {
      memory.queries[row_idx * params.head_size + i] = load_as<float>(global_query[i]);
    }
    for (std::int64_t d = part; d < params.head_size_v; d += Rung::kThreadsPerRow) sums[d] = 0.0f;
  }

  float m = sink;
  float l = sink == minus_infinity ? 0.0f : 1.0f;
  bool sees_a_key = false;
  const KeyRange visible_keys = visible_keys_of(params, tile);
  const std::int64_t first_of_all = visible_keys.begin / Rung::kKeys * Rung::kKeys;
  for (std::int64_t first_key = first_of_all; first_key < visible_keys.end;
       first_key += Rung::kKeys) {
    // Step 1: locate the block
    __syncthreads();  // before keys are overwritten that others may still read
    for (std::int64_t key_idx = row_idx; key_idx < Rung::kKeys; key_idx += Rung::kQueries) {
      const std::int64_t position = first_key + key_idx;
      if (position < visible_keys.begin || position >= visible_keys.end) continue;
      const std::int64_t physical_block = block_table_row[position / params.block_size];
      const std::int64_t block_offset = position % params.block_size;
      const Stored* key = keys + physical_block * params.key_strides.block +
                          block_offset * params.key_strides.token;
      const Stored* value = values + physical_block * params.value_strides.block +
                            block_offset * params.value_strides.token;
      for (std::int64_t i = part; i < params.head_size; i += Rung::kThreadsPerRow) {
        memory.keys[key_idx * (params.head_size + 1) + i] = cache_value<float>(key[i], k_scale);
      }
      for (std::int64_t d = part; d < params.head_size_v; d += Rung::kThreadsPerRow) {
        memory.values[key_idx * params.head_size_v + d] = cache_value<float>(value[d], v_scale);
      }
    }
    __syncthreads();

    // Step 2: scores
    for (std::int64_t key_idx = part; has_row && key_idx < Rung::kKeys;
         key_idx += Rung::kThreadsPerRow) {
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
    for (std::int64_t key_idx = 0; has_row && key_idx < Rung::kKeys; ++key_idx) {
      largest = larger(weights[key_idx], largest);
    }
    __syncthreads();  // before the scores are overwritten
    const bool is_unchanged = largest == m;
    const float rescaling = is_unchanged ? 1.0f : softmax_weight(m, largest);
    m = largest;
    for (std::int64_t key_idx = part; has_row && key_idx < Rung::kKeys;
         key_idx += Rung::kThreadsPerRow) {
      const std::int64_t position = first_key + key_idx;
      const bool exists = position >= visible_keys.begin && position < visible_keys.end;
      const bool is_visible = exists && sees(params, row, position);
      const float score = weights[key_idx];
      const float p = score == minus_infinity ? 0.0f : softmax_weight(score, m);
      weights[key_idx] = is_visible ? p : Rung::kHidden;
    }
    __syncthreads();
    l = l * rescaling;
    for (std::int64_t key_idx = 0; has_row && key_idx < Rung::kKeys; ++key_idx) {
      const float p = weights[key_idx];
      if (p == Rung::kHidden) continue;
      l = l + p;
      sees_a_key = true;
    }

    // Step 4: weighted values
    for (std::int64_t d = part; has_row && d < params.head_size_v; d += Rung::kThreadsPerRow) {
      float acc = sums[d] * rescaling;
      for (std::int64_t key_idx = 0; key_idx < Rung::kKeys; ++key_idx) {
        const float p = weights[key_idx];
        if (p == Rung::kHidden) continue;
        const float value = memory.values[key_idx * params.head_size_v + d];
        acc = fused_multiply_add(p, value, acc);
      }
      sums[d] = acc;
    }
  }

  // Step 5: normalise
  if (!has_row) return;
  if (!sees_a_key) {
    for (std::int64_t d = part; d < params.head_size_v; d += Rung::kThreadsPerRow) output[d] = 0.0f;
    if (part == 0) *lse = sink;
    return;
  }
  // Every key that it sees has a score of −∞: then −∞ − −∞ is what each weight is made of.
  if (m == minus_infinity) l = canonical_nan(m - m);
  for (std::int64_t d = part; d < params.head_size_v; d += Rung::kThreadsPerRow) {
    output[d] = canonical_nan(sums[d] / l);
  }
  if (part == 0) *lse = canonical_nan(m + exact_log(l));
}

// Attends for every row and head of the batch.
template <typename Query, typename Stored>
void launch_paged_prefill_tiled(const PagedAttentionParams& params) {
  using Rung = PrefillTiled;
  const char* const name = "paged_prefill/1_tiled";
  require_taken(name, refusal_of_head_sizes(params));
  if (params.num_tokens == 0) return;
  const std::int64_t num_tiles = num_query_tiles(params, Rung::kQueries);
  launch(name, ctas_for(num_tiles * params.num_query_heads, 1), Rung::kThreadsPerCta,
         paged_prefill_tiled<Query, Stored>, params, bytes_of_prefill_tiled(params));
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
