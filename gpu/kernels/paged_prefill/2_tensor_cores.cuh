// paged_prefill, rung 2: both products on tensor cores (FlashAttention-2).
//
// Problem  out[t,h] = softmax(scale · query[t,h] · Kᵀ) · V over those keys of the token's request
//          that row t sees; lse[h,t] = ln Σ exp(score). Keys and values lie in a paged cache.
// Shapes   query [num_tokens, num_query_heads, head_size], 16 bits an element
//          block_table [num_reqs, max_blocks_per_req]
//          key_cache [num_blocks, block_size, num_kv_heads, head_size], through strides
//          value_cache [num_blocks, block_size, num_kv_heads, head_size_v], through strides
//          out [num_tokens, num_query_heads, head_size_v], lse [num_query_heads, num_tokens], float32
// Mapping  thread block of four warps → 64 neighbouring queries of one request, for one head; it walks
//          the keys that any of them sees, 64 at a time, from multiples of 64. Warp w → rows 16w … 16w +
//          15, for all 64 keys and the whole head: a row's softmax stays in one warp.
//
//                              Kᵀ  head × 64 keys                V  64 keys × head
//          Q  16 × head   ·    ▒▒▒▒▒▒▒▒       →   S 16 × 64  ·   ▒▒▒▒         →   acc 16 × head
//                              8 keys an mma      → P            8 elements an mma
//
//          S, P and acc are fragments in registers (gpu/device/mma.h). S comes out of the first product in
//          the very shape in which the second wants P: nothing is moved between lanes.
// Cost     4 · 64 · 64 · head operations a tile, at 4,096 an mma. The operands of each mma are gathered from
//          shared memory: K 4 bytes at a time, V 2, with the 8 rows of a fragment in the same banks; and
//          nothing is multiplied while a tile is loaded. Tensor cores wait most of the time.
// Change   rung 1 multiplied float32 numbers one by one, 64 operations an fma of a warp. Here operands have
//          16 bits, and so has P: it is rounded to the type of the values before it meets them. 16,384
//          tokens: 14.1 TFLOP/s instead of 3.2 on an H200 (shape and log: 1_tiled.cuh).
// Order    q · k: steps of 16 elements in ascending order, each one sum of a tensor core
//          (simulator/simt/tensor_core.h). p = 2^(s · factor − m), one fma (warp_softmax.h); l: each of the
//          four lanes of a row adds its weights in ascending order, then lanes one apart, two apart. P is
//          rounded to 16 bits, l is of the unrounded weights. Σ p · v: steps of 16 keys in ascending
//          order. After each tile of 64 keys sums are multiplied by 2^(m before − m). v_scale multiplies
//          the quotient. Which rows share a tile changes no bit. Rows whose sums are not finite are
//          computed again in the canonical order (exceptional_row.h).
// Expects  a valid step: block ids within the cache for every position that some row sees. Head sizes that are
//          multiples of 16 up to 256; fp8 codes become 16-bit numbers exactly, without their scale.
// Words    mma_m16n8k16_bf16, …_f16: gpu/device/mma.h. pack: gpu/device/pack.h.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/device/shared_memory.h"
#include "gpu/kernels/paged_attention/page_table.h"
#include "gpu/kernels/paged_attention/tensor_core_checks.h"
#include "gpu/kernels/paged_prefill/warp_softmax.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// The constants of rung 2, and its launcher.
struct PrefillTensorCores {
  static constexpr const char* kName = "paged_prefill/2_tensor_cores";  ///< for messages
  static constexpr int kQueries = 64;                                   ///< of a tile
  static constexpr int kThreadsPerCta = kQueries / kRowsPerWarp * 32;   ///< a warp each 16 rows

  /// Attends for every row and head of the batch. \throws Error for sizes that it does not take
  template <typename Query, typename Stored>
  static void launch(const PagedAttentionParams& params);
};

// Loads rows of a tile into shared memory, two elements at a time. Elements that do not exist are zeros:
// what lies in their place may be anything, NaN too, which no zero weight would hide.
// \param rows       [num_rows, kHead] in shared memory
// \param row_of     the global address of a row; nullptr if there is none
// \param head_size  elements of a row that exist
template <typename Operand, int kHead, typename RowOf>
__device__ void load_rows(std::uint32_t* rows, int num_rows, std::int64_t head_size, RowOf row_of) {
  constexpr int kPairs = kHead / 2;
  for (int idx = static_cast<int>(threadIdx.x); idx < num_rows * kPairs;
       idx += static_cast<int>(blockDim.x)) {
    const int i = idx % kPairs * 2;
    const auto* row = row_of(idx / kPairs);
    const bool exists = row != nullptr && i < head_size;
    rows[idx] = exists ? pair_of<Operand>(row[i], row[i + 1]) : 0u;
  }
}

template <typename Query, typename Stored, int kHead>
__global__ void __launch_bounds__(PrefillTensorCores::kThreadsPerCta)
    paged_prefill_tensor_cores(PagedAttentionParams params) {
  using Rung = PrefillTensorCores;
  constexpr int kPairs = kHead / 2;  // registers of a row
  const std::int64_t head_idx = blockIdx.x % params.num_query_heads;
  const std::int64_t tile_idx = blockIdx.x / params.num_query_heads;
  const QueryTile tile = query_tile_of(params, tile_idx, Rung::kQueries);
  if (tile.num_rows == 0) return;
  if (tile.is_padding) {
    store_padding(params, tile, head_idx);
    return;
  }

  // Which rows this warp works for, and its place in the fragments.
  const int warp_idx = static_cast<int>(threadIdx.x) / 32;
  const int lane_idx = static_cast<int>(threadIdx.x) % 32;
  const int group = lane_idx / 4;
  const int pair = lane_idx % 4;
  const QueryTile warp_tile = part_of(tile, warp_idx, kRowsPerWarp);
  const KeyRange seen_by_warp = seen_by_all(params, warp_tile);
  const std::int64_t kv_head_idx = head_idx / (params.num_query_heads / params.num_kv_heads);
  const Stored* keys =
      static_cast<const Stored*>(params.key_cache) + kv_head_idx * params.key_strides.head;
  const Stored* values =
      static_cast<const Stored*>(params.value_cache) + kv_head_idx * params.value_strides.head;
  const std::int32_t* block_table_row = block_table_row_of(params, tile.req_idx);
  const float k_scale = kIsFp8<Stored> ? params.k_scales[kv_head_idx] : 1.0f;
  const ScoreFactor score_factor = score_factor_of(params, k_scale);

  // Tiles in shared memory, two elements a word.
  std::uint32_t* query_tile = dynamic_shared_memory<std::uint32_t>();  // [kQueries, kPairs]
  std::uint32_t* key_tile = query_tile + Rung::kQueries * kPairs;      // [kPrefillKeys, kPairs]
  std::uint32_t* value_tile = key_tile + kPrefillKeys * kPairs;        // [kPrefillKeys, kPairs]
  load_rows<Query, kHead>(query_tile, Rung::kQueries, params.head_size, [&](int row_idx) {
    const std::int64_t row = (tile.first_token + row_idx) * params.num_query_heads + head_idx;
    const Query* query = static_cast<const Query*>(params.query) + row * params.head_size;
    return row_idx < tile.num_rows ? query : nullptr;
  });

  RowPair state = first_state(params, head_idx, lane_idx);
  float acc[kHead / 8][4] = {};
  const KeyRange visible_keys = visible_keys_of(params, tile);
  const std::int64_t first_of_all = visible_keys.begin / kPrefillKeys * kPrefillKeys;
  for (std::int64_t first_key = first_of_all; first_key < visible_keys.end;
       first_key += kPrefillKeys) {
    // Step 1: locate the block
    const auto row_in = [&](const Stored* cache, const KvStrides& strides, int key_idx) {
      const std::int64_t position = first_key + key_idx;
      const bool exists = position >= visible_keys.begin && position < visible_keys.end;
      if (!exists) return static_cast<const Stored*>(nullptr);
      const std::int64_t physical_block = block_table_row[position / params.block_size];
      const std::int64_t block_offset = position % params.block_size;
      return cache + physical_block * strides.block + block_offset * strides.token;
    };
    __syncthreads();  // before keys are overwritten that other warps may still read
    load_rows<Query, kHead>(key_tile, kPrefillKeys, params.head_size,
                            [&](int key_idx) { return row_in(keys, params.key_strides, key_idx); });
    load_rows<Query, kHead>(value_tile, kPrefillKeys, params.head_size_v, [&](int key_idx) {
      return row_in(values, params.value_strides, key_idx);
    });
    __syncthreads();
    if (warp_tile.num_rows == 0) continue;

    // Step 2: scores
    float scores[kPrefillKeys / 8][4] = {};
    PAGELAB_UNROLL for (int step = 0; step < kHead / 16; ++step) {
      const std::uint32_t* upper = query_tile + (warp_idx * 16 + group) * kPairs + 8 * step + pair;
      const std::uint32_t* lower = upper + 8 * kPairs;
      const std::uint32_t a[4] = {upper[0], lower[0], upper[4], lower[4]};
      PAGELAB_UNROLL for (int n = 0; n < kPrefillKeys / 8; ++n) {
        const std::uint32_t* key = key_tile + (8 * n + group) * kPairs + 8 * step + pair;
        const std::uint32_t b[2] = {key[0], key[4]};
        multiply_add<Query>(scores[n], a, b);
      }
    }
    if (score_factor.has_options) {
      finish_scores(params, warp_tile, head_idx, k_scale, first_key, lane_idx, scores);
    }
    if (first_key < seen_by_warp.begin || first_key + kPrefillKeys > seen_by_warp.end) {
      hide_scores(params, warp_tile, first_key, lane_idx, scores);
    }

    // Step 3: softmax update
    float rescaling[2];
    online_softmax(scores, score_factor.factor, state, rescaling);

    // Step 4: weighted values
    PAGELAB_UNROLL for (int n = 0; n < kHead / 8; ++n) {
      PAGELAB_UNROLL for (int part = 0; part < 4; ++part) {
        acc[n][part] = acc[n][part] * rescaling[part / 2];
      }
    }
    PAGELAB_UNROLL for (int step = 0; step < kPrefillKeys / 16; ++step) {
      const float(&left)[4] = scores[2 * step];
      const float(&right)[4] = scores[2 * step + 1];
      const std::uint32_t a[4] = {pack<Query>(left[0], left[1]), pack<Query>(left[2], left[3]),
                                  pack<Query>(right[0], right[1]), pack<Query>(right[2], right[3])};
      // Two keys of one element lie in two rows, each in half a word.
      const int first_row = 16 * step + 2 * pair;
      PAGELAB_UNROLL for (int n = 0; n < kHead / 8; ++n) {
        const int word = (8 * n + group) / 2;
        const int shift = group % 2 * 16;
        const auto element = [&](int key_idx) {
          return value_tile[key_idx * kPairs + word] >> shift & 0xffffu;
        };
        const std::uint32_t b[2] = {element(first_row) | element(first_row + 1) << 16,
                                    element(first_row + 8) | element(first_row + 9) << 16};
        multiply_add<Query>(acc[n], a, b);
      }
    }
  }

  // Step 5: normalise
  store_rows<Query, Stored>(params, warp_tile, head_idx, lane_idx, state, acc);
}

// Attends for every row and head of the batch.
template <typename Query, typename Stored>
void PrefillTensorCores::launch(const PagedAttentionParams& params) {
  require_taken(kName, refusal_of_tensor_cores(with_dtypes<Query, Stored>(params)));
  if (params.num_tokens == 0) return;
  const std::int64_t num_ctas = num_query_tiles(params, kQueries) * params.num_query_heads;
  with_head_capacity(params, [&]<int kHead>() {
    const std::size_t shared_bytes = (kQueries + 2 * kPrefillKeys) * kHead * 2;
    pagelab::launch(kName, ctas_for(num_ctas, 1), kThreadsPerCta,
                    paged_prefill_tensor_cores<Query, Stored, kHead>, params, shared_bytes);
  });
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
