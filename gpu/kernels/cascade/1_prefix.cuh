// cascade, rung 1: the shared prefix of a cascade, on tensor cores, in tiles of tokens and heads.
//
// Problem  out[t,h] = softmax(scale · query[t,h] · Kᵀ) · V over all keys of the one request that there is, which
//          every row sees; lse[h,t] = ln Σ exp(score). The suffix is another launch, of another kernel.
// Shapes   query [num_tokens, num_query_heads, head_size], 16 bits an element
//          block_table [1, max_blocks_per_req]
//          key_cache [num_blocks, block_size, num_kv_heads, head_size], through strides
//          value_cache [num_blocks, block_size, num_kv_heads, head_size_v], through strides
//          out [num_tokens, num_query_heads, head_size_v], lse [num_query_heads, num_tokens], float32
// Mapping  thread block of eight warps → 128 rows of one KV head, and a partition of 512 keys. A row is a query token
//          and a query head of the group, so that heads share keys as tokens do. A group of 4:
//
//              row     0    1    2    3    4    5    6  …        warp w → rows 16w … 16w + 15, for all keys
//              token   0    0    0    0    1    1    1           of the partition, 64 at a time; a row's
//              head    4k   4k+1 4k+2 4k+3 4k   4k+1 4k+2        softmax stays in one warp
//
//          Thread blocks that share keys are neighbours in the grid. Two tiles of 64 keys and values are in shared
//          memory, one that is multiplied and one on its way, as in paged_prefill/3_pipelined.cuh.
// Cost     the prefix once for every 128 rows: 64 decodes with 4 heads a KV head are two times 128, and the second
//          finds the keys in L2. Each row and partition writes head_size_v + 2 floats, which the reduce reads:
//          at a head of 128, 520 bytes for 512 keys and a row. So a batch of long queries, which fills tiles by
//          itself, is better off with paged_prefill, which keeps its sums in registers.
// Change   the first rung. paged_prefill gives a tile's rows to one head: it reads the prefix once for each query
//          head, and walks it from end to end, so that 32 heads keep 32 multiprocessors busy. Packing the heads of a
//          group fills the rows, and partitions fill the GPU. On an H200, 64 requests behind 8,192 tokens with
//          256 of their own take 117 us by a cascade with this kernel, 459 flat, 283 with paged_prefill/3 in its place (one
//          NVIDIA H200, 2026-11-30, docs/measurements/2026-11-30-h200-cascade-and-ex2.txt).
// Order    of a partition that of paged_prefill/2_tensor_cores.cuh, from the partition's first key on; of the
//          partitions that of paged_decode/reduce_base_2.cuh. Which rows share a tile changes no bit.
// Expects  at most one request; attention that is not causal, without a window, ALiBi or prefix-LM ranges. Keys and
//          values of the query's own type, heads that are multiples of 16 up to 128. A sink counts in the reduce.
// Words    cp_async, ldmatrix, mma: gpu/device. dynamic_shared_memory: gpu/device/shared_memory.h.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/device/cp_async.h"
#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/device/ldmatrix.h"
#include "gpu/device/shared_memory.h"
#include "gpu/device/unroll.h"
#include "gpu/kernels/cascade/prefix_checks.h"
#include "gpu/kernels/paged_attention/cache_place.h"
#include "gpu/kernels/paged_attention/page_table.h"
#include "gpu/kernels/paged_attention/params.h"
#include "gpu/kernels/paged_attention/score.h"
#include "gpu/kernels/paged_attention/swizzled_tile.h"
#include "gpu/kernels/paged_attention/tensor_core_operands.h"
#include "gpu/kernels/paged_decode/decode_checks.h"
#include "gpu/kernels/paged_decode/partitions.h"
#include "gpu/kernels/paged_decode/reduce_base_2.cuh"
#include "gpu/kernels/paged_prefill/warp_softmax.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// The constants of the rung, and its launcher.
struct CascadePrefix {
  static constexpr const char* kName = "cascade/1_prefix";    ///< for messages
  static constexpr int kRows = 128;                           ///< of a thread block
  static constexpr int kThreads = kRows / kRowsPerWarp * 32;  ///< a warp each 16 rows
  static constexpr int kStages = 2;                           ///< tiles in shared memory
  template <int kHead>
  static constexpr int kTileElements = kPrefillKeys* kHead;  ///< of keys, or of values
  /// Queries, then keys and values of each stage, then the places of the partition's tokens.
  template <int kHead>
  static constexpr std::size_t kSharedBytes =
      2 * (kRows * kHead + kStages * 2 * kTileElements<kHead>)+kPartitionLen * sizeof(TokenPlace);

  /// Attends for every row and head of the batch. \throws Error for sizes or a variant that it does not take
  template <typename Query>
  static void launch(const PagedAttentionParams& params);
};

/// A query token and a query head.
struct PackedRow {
  std::int32_t token_idx;  ///< row of the batch
  std::int32_t head_idx;   ///< query head
};

/// The row of a number, among those of one KV head.
__device__ inline PackedRow packed_row(std::int32_t row, std::int32_t group, std::int32_t kv_head) {
  return {row / group, kv_head * group + row % group};
}

// Begins to bring rows of a tile into shared memory.
// \param first_of  the first element of a row of the tile, or nullptr if it is not to be read
// \param fallback  an address that may be named where nothing is read
template <int kHead, int kRows, typename Element, typename FirstOf>
__device__ __forceinline__ void begin_prefix_rows(Element* tile,
                                                  int head_size,
                                                  const Element* fallback,
                                                  FirstOf first_of) {
  constexpr int kChunks = kHead / kChunkElements;  // of a row
  constexpr int kRowsPerRound = CascadePrefix::kThreads / kChunks;
  static_assert(kRowsPerRound % 8 == 0, "the swizzle of a thread's rows is the same");
  static_assert(kRows % kRowsPerRound == 0, "every round is whole");
  const int first_row = static_cast<int>(threadIdx.x) / kChunks;
  const int chunk = static_cast<int>(threadIdx.x) % kChunks;
  const int element = chunk * kChunkElements;
  Element* const first_chunk = tile + swizzled<kHead>(first_row, chunk);
  PAGELAB_UNROLL for (int begin = 0; begin < kRows; begin += kRowsPerRound) {
    const Element* first = first_of(begin + first_row);
    const bool exists = first != nullptr && element < head_size;
    begin_chunk(first_chunk + begin * kHead, exists ? first + element : fallback, exists);
  }
}

template <typename Query, int kHead>
__global__ void __launch_bounds__(CascadePrefix::kThreads)
    cascade_prefix(PagedAttentionParams params) {
  using Rung = CascadePrefix;
  Query* const query_tile = dynamic_shared_memory<Query>();  // [kRows, kHead], swizzled
  Query* const tiles = query_tile + Rung::kRows * kHead;     // keys, values of each stage
  TokenPlace* const places = reinterpret_cast<TokenPlace*>(
      tiles + Rung::kStages * 2 * Rung::kTileElements<kHead>);  // [kPartitionLen]

  // Which rows, KV head and partition this thread block owns.
  const PartitionStates states = partition_states(params);
  const std::int32_t num_kv_heads = static_cast<std::int32_t>(params.num_kv_heads);
  const std::int32_t group = static_cast<std::int32_t>(params.num_query_heads) / num_kv_heads;
  const std::int32_t num_row_tiles =
      static_cast<std::int32_t>((params.num_tokens * group + Rung::kRows - 1) / Rung::kRows);
  const std::int32_t cta_idx = static_cast<std::int32_t>(blockIdx.x);
  const std::int32_t first_row = cta_idx % num_row_tiles * Rung::kRows;
  const std::int32_t kv_head_idx = cta_idx / num_row_tiles % num_kv_heads;
  const std::int32_t partition = cta_idx / num_row_tiles / num_kv_heads;
  const std::int32_t end_row = params.query_start_loc[1] * group;  // padding comes after it
  const std::int32_t first_position = partition * static_cast<std::int32_t>(kPartitionLen);
  const std::int32_t seq_len = static_cast<std::int32_t>(seq_len_of(params, 0));
  const std::int32_t keys_left = seq_len - first_position;
  const std::int32_t num_keys = keys_left < kPartitionLen ? keys_left : kPartitionLen;
  if (first_row >= end_row || num_keys <= 0) return;
  const int num_tiles = (num_keys + kPrefillKeys - 1) / kPrefillKeys;

  // Step 1: locate the block
  // For all keys of the partition, before one is needed.
  const int thread_idx = static_cast<int>(threadIdx.x);
  const std::int32_t* block_table_row = block_table_row_of(params, 0);
  for (int key = thread_idx; key < kPartitionLen; key += Rung::kThreads) {
    TokenPlace place = {kNoToken, kNoToken};
    if (key < num_keys) {
      const CachePlace slot = place_of(block_table_row, params.block_size, first_position + key);
      place = {slot.offset(params.key_strides), slot.offset(params.value_strides)};
    }
    places[key] = place;
  }
  const Query* keys =
      static_cast<const Query*>(params.key_cache) + kv_head_idx * params.key_strides.head;
  const Query* values =
      static_cast<const Query*>(params.value_cache) + kv_head_idx * params.value_strides.head;
  const auto begin_tile = [&](int tile) {
    if (tile < num_tiles) {
      const TokenPlace* tile_places = places + tile * kPrefillKeys;
      Query* key_rows = tiles + tile % Rung::kStages * 2 * Rung::kTileElements<kHead>;
      Query* value_rows = key_rows + Rung::kTileElements<kHead>;
      begin_prefix_rows<kHead, kPrefillKeys>(key_rows, static_cast<int>(params.head_size), keys,
                                             [&](int row) {
                                               const std::int64_t place = tile_places[row].key;
                                               return place == kNoToken ? nullptr : keys + place;
                                             });
      begin_prefix_rows<kHead, kPrefillKeys>(value_rows, static_cast<int>(params.head_size_v),
                                             values, [&](int row) {
                                               const std::int64_t place = tile_places[row].value;
                                               return place == kNoToken ? nullptr : values + place;
                                             });
    }
    cp_async_commit();
  };

  // Before the loop: the queries and the first tile are on their way.
  const Query* all_queries = static_cast<const Query*>(params.query);
  begin_prefix_rows<kHead, Rung::kRows>(
      query_tile, static_cast<int>(params.head_size), all_queries, [&](int i) {
        const PackedRow row = packed_row(first_row + i, group, kv_head_idx);
        const std::int64_t row_idx = row.token_idx * params.num_query_heads + row.head_idx;
        return first_row + i < end_row ? all_queries + row_idx * params.head_size : nullptr;
      });
  __syncthreads();
  begin_tile(0);

  // Where the first chunks are that this lane names to ldmatrix, in a tile: the others are an xor away.
  const int warp_idx = thread_idx / 32;
  const int lane_idx = thread_idx % 32;
  const int matrix = lane_idx / 8;
  const int matrix_row = lane_idx % 8;
  const int query_place =
      swizzled<kHead>(warp_idx * kRowsPerWarp + matrix % 2 * 8 + matrix_row, matrix / 2);
  const int key_place = swizzled<kHead>(matrix / 2 * 8 + matrix_row, matrix % 2);
  const int value_place = swizzled<kHead>(matrix % 2 * 8 + matrix_row, matrix / 2);
  const int pair = lane_idx % 4;
  const bool has_rows = first_row + warp_idx * kRowsPerWarp < end_row;
  const ScoreFactor score_factor = score_factor_of(params, 1.0f);
  const float minus_infinity = float_from_bits(0xff800000u);

  RowPair state = {{minus_infinity, minus_infinity}, {0.0f, 0.0f}};
  float acc[kHead / 8][4] = {};
  for (int tile = 0; tile < num_tiles; ++tile) {
    cp_async_wait<0>();  // this thread's part of the tile has arrived
    __syncthreads();     // everybody's has; and nobody reads the other stage any more
    begin_tile(tile + 1);
    if (!has_rows) continue;
    const int keys_place = tile % Rung::kStages * 2 * Rung::kTileElements<kHead>;
    const int values_place = keys_place + Rung::kTileElements<kHead>;

    // Step 2: scores
    // One ldmatrix of four matrices: 16 keys by 16 elements, the operands B of two mma.
    float scores[kPrefillKeys / 8][4] = {};
    PAGELAB_UNROLL for (int step = 0; step < kHead / 16; ++step) {
      std::uint32_t a[4];
      ldmatrix_x4(a, query_tile + (query_place ^ 2 * step * kChunkElements));
      PAGELAB_UNROLL for (int n = 0; n < kPrefillKeys / 8; n += 2) {
        std::uint32_t b[4];
        ldmatrix_x4(b,
                    tiles + ((keys_place + key_place) ^ 2 * step * kChunkElements) + 8 * n * kHead);
        const std::uint32_t first_keys[2] = {b[0], b[1]};
        const std::uint32_t next_keys[2] = {b[2], b[3]};
        multiply_add<Query>(scores[n], a, first_keys);
        multiply_add<Query>(scores[n + 1], a, next_keys);
      }
    }
    // Only a soft cap asks for more, and only the last tile has keys that do not exist.
    const int keys_of_tile = num_keys - tile * kPrefillKeys;
    if (score_factor.has_options || keys_of_tile < kPrefillKeys) {
      PAGELAB_UNROLL for (int n = 0; n < kPrefillKeys / 8; ++n) {
        PAGELAB_UNROLL for (int part = 0; part < 4; ++part) {
          const bool exists = 8 * n + 2 * pair + part % 2 < keys_of_tile;
          if (score_factor.has_options) {
            scores[n][part] = scaled_score(params, QueryRow{}, scores[n][part], 0);
          }
          scores[n][part] = exists ? scores[n][part] : minus_infinity;
        }
      }
    }

    // Step 3: softmax update
    float rescaling[2];
    online_softmax(scores, score_factor.factor, state, rescaling);

    // Step 4: weighted values
    const bool changes = rescaling[0] != 1.0f || rescaling[1] != 1.0f;
    if (__any_sync(kWholeWarp, changes ? 1 : 0) != 0) {
      PAGELAB_UNROLL for (int n = 0; n < kHead / 8; ++n) {
        PAGELAB_UNROLL for (int part = 0; part < 4; ++part) {
          acc[n][part] = acc[n][part] * rescaling[part / 2];
        }
      }
    }
    PAGELAB_UNROLL for (int step = 0; step < kPrefillKeys / 16; ++step) {
      const float(&left)[4] = scores[2 * step];
      const float(&right)[4] = scores[2 * step + 1];
      const std::uint32_t a[4] = {pack<Query>(left[0], left[1]), pack<Query>(left[2], left[3]),
                                  pack<Query>(right[0], right[1]), pack<Query>(right[2], right[3])};
      // Values lie by rows of keys, and B is wanted by columns: ldmatrix transposes.
      PAGELAB_UNROLL for (int n = 0; n < kHead / 8; n += 2) {
        std::uint32_t b[4];
        ldmatrix_x4_trans(
            b, tiles + ((values_place + value_place) ^ n * kChunkElements) + 16 * step * kHead);
        const std::uint32_t first_elements[2] = {b[0], b[1]};
        const std::uint32_t next_elements[2] = {b[2], b[3]};
        multiply_add<Query>(acc[n], a, first_elements);
        multiply_add<Query>(acc[n + 1], a, next_elements);
      }
    }
  }
  cp_async_wait<0>();

  // Step 5: nothing here, reduce_base_2.cuh normalises
  PAGELAB_UNROLL for (int half = 0; half < 2; ++half) {
    float l = state.l[half];
    l = l + __shfl_xor_sync(kWholeWarp, l, 1);
    l = l + __shfl_xor_sync(kWholeWarp, l, 2);
    const std::int32_t i = first_row + warp_idx * kRowsPerWarp + half * 8 + lane_idx / 4;
    if (i >= end_row) continue;
    const PackedRow row = packed_row(i, group, kv_head_idx);
    const std::int64_t row_idx = row.token_idx * params.num_query_heads + row.head_idx;
    float* const output = states.output(row_idx, partition);
    PAGELAB_UNROLL for (int n = 0; n < kHead / 8; ++n) {
      const int d = 8 * n + 2 * pair;
      if (d >= params.head_size_v) continue;
      output[d] = acc[n][2 * half];
      output[d + 1] = acc[n][2 * half + 1];
    }
    if (pair > 0) continue;
    states.maxima[states.index(row_idx, partition)] = state.m[half];
    states.sums[states.index(row_idx, partition)] = l;
  }
}

// Attends for every row and head of the batch.
template <typename Query>
void CascadePrefix::launch(const PagedAttentionParams& params) {
  require_taken(kName, refusal_of_prefix(with_dtypes<Query, Query>(params)));
  require_taken(kName, refusal_of_prefix_variant(params));
  require_max_seq_len(kName, params);
  const std::int64_t num_rows = params.num_tokens * params.num_query_heads;
  if (num_rows == 0) return;
  require_workspace(kName, params);
  const std::int64_t rows_of_kv_head = num_rows / params.num_kv_heads;
  const std::int64_t num_ctas = params.num_reqs * ((rows_of_kv_head + kRows - 1) / kRows) *
                                params.num_kv_heads * num_partitions(params.max_seq_len);
  if (num_ctas > 0) {
    const auto launch_sized = [&]<int kHead>() {
      pagelab::launch(kName, ctas_for(num_ctas, 1), kThreads, cascade_prefix<Query, kHead>, params,
                      kSharedBytes<kHead>);
    };
    if (params.head_size <= 64 && params.head_size_v <= 64) {
      launch_sized.template operator()<64>();
    } else {
      launch_sized.template operator()<128>();
    }
  }
  pagelab::launch(kName, ctas_for(num_rows, 1), kDecodeThreads,
                  paged_decode_reduce_base_2<Query, Query>, params,
                  static_cast<std::size_t>(2 * whole_fours(num_partitions(params.max_seq_len))) *
                      sizeof(float));
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
