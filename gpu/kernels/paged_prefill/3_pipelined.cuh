// paged_prefill, rung 3: swizzled shared memory, ldmatrix, and copies that run ahead.
//
// Problem  out[t,h] = softmax(scale · query[t,h] · Kᵀ) · V over those keys of the token's request
//          that row t sees; lse[h,t] = ln Σ exp(score). Keys and values lie in a paged cache.
// Shapes   query [num_tokens, num_query_heads, head_size], 16 bits an element
//          block_table [num_reqs, max_blocks_per_req]
//          key_cache [num_blocks, block_size, num_kv_heads, head_size], through strides
//          value_cache [num_blocks, block_size, num_kv_heads, head_size_v], through strides
//          out [num_tokens, num_query_heads, head_size_v], lse [num_query_heads, num_tokens], float32
// Mapping  thread block of twelve warps → 192 neighbouring queries of one request, for one head (eight warps and 128
//          queries where heads exceed 128); warp w → rows 16w … 16w + 15, as in rung 2. Two tiles of 64 keys and
//          values are in shared memory, one that is multiplied and one that is on its way:
//
//              copies     tile 1 ░░░░░░  tile 2 ░░░░░░  tile 3 ░░░░░░
//              products         tile 0 ▓▓▓▓▓▓▓ tile 1 ▓▓▓▓▓▓▓ tile 2 ▓▓▓▓▓▓▓
//                                     barrier        barrier
//
//          Their rows lie as paged_attention/swizzled_tile.h draws it, so that ldmatrix finds no bank conflict.
// Cost     per thread block, 2 · 64 · head · 2 bytes a tile from L2 for 192 rows, where rung 2 reads them for 64.
//          A warp issues, for 64 keys and 16 rows of a head of 128: 128 mma, 72 ldmatrix, and 32 exponentials a
//          lane. No unit is full: while a warp waits for its operands or its exponentials, tensor cores wait,
//          unless another warp multiplies. Three warps share each of the four schedulers of a multiprocessor,
//          and that is what registers allow: 168 a thread, of which 96 are sums.
// Change   rung 2 loaded a tile, waited, multiplied, waited; its operands came 2 and 4 bytes at a time out of
//          the same banks. Here cp.async copies 16 bytes from global to shared memory while the tile before
//          is multiplied, and one ldmatrix brings the operands of two mma. One barrier a tile instead of two. The
//          block table is asked once a tile, by the first 64 threads, one tile ahead of the copies. The longest
//          tiles of a causal batch are launched first, so that short ones fill the end; heads of a group are
//          neighbours in the grid, and share keys and values in L2. Sums are not multiplied by 1: if no row of a
//          warp has a new maximum, the rescaling is left out. Registers are for sums: what a thread block seldom
//          needs lies in shared memory, queries are loaded anew for each tile, a place in a swizzled row is an xor
//          away from the one before. A copy asks nothing of its source: what is not
//          read has an address that nobody looks at. 16,384 tokens: 312 TFLOP/s instead of 14 on an H200 (one NVIDIA H200,
//          2026-11-30, docs/measurements/2026-11-30-h200-ladders.txt; shape: 1_tiled.cuh), 39 % of a product of cuBLAS. It
//          had 288 when each copy looked at its address (2026-11-30-h200-rungs-6-and-3.txt), and 231 with an exponential
//          of fourteen instructions (docs/ex2.md).
//          Tried and left out, with that one (2026-11-30-h200.txt, where it has 239): 32 rows a warp read each
//          tile half as often but leave two warps a scheduler (195); every other warp half a tile behind, so that one
//          part's exponentials meet another's products (240, for more shared memory); a warp that multiplies the
//          next tile's keys while it computes this one's exponentials (203, for more registers).
// Order    that of rung 2, and the same bits.
// Expects  what rung 2 does. fp8 caches, whose elements have to be converted on the way, are read through
//          registers.
// Words    cp_async, ldmatrix: gpu/device. __any_sync(mask, x): whether x holds for some lane.
//          __launch_bounds__ promises nvcc a number of threads, so that it knows how many registers it has.
#pragma once

#include "gpu/device/cp_async.h"
#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/device/ldmatrix.h"
#include "gpu/device/shared_memory.h"
#include "gpu/kernels/paged_attention/cache_place.h"
#include "gpu/kernels/paged_attention/page_table.h"
#include "gpu/kernels/paged_attention/swizzled_tile.h"
#include "gpu/kernels/paged_attention/tensor_core_checks.h"
#include "gpu/kernels/paged_prefill/warp_softmax.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// What a thread block of rung 3 works on. It lies in shared memory: the inner loop needs all registers there are
/// for sums.
struct PrefillWork {
  QueryTile tile;            ///< queries
  std::int32_t head_idx;     ///< query head
  std::int32_t kv_head_idx;  ///< the KV head that it reads
  std::int32_t begin_key;    ///< first key that a row sees
  std::int32_t end_key;      ///< the one after the last
};

/// The constants of rung 3, and its launcher.
struct PrefillPipelined {
  static constexpr const char* kName = "paged_prefill/3_pipelined";  ///< for messages
  /// Queries of a tile, of which each warp has 16 rows: as many warps as registers suffice for.
  template <int kHead>
  static constexpr int kQueries = kHead <= 128 ? 192 : 128;
  /// Threads of a thread block.
  template <int kHead>
  static constexpr int kThreads = kQueries<kHead> / kRowsPerWarp * 32;
  static constexpr int kStages = 2;  ///< tiles of keys and values in shared memory

  /// A tile of keys or of values.
  template <int kHead>
  static constexpr int kTileElements = kPrefillKeys* kHead;
  /// Queries, then keys and values of each stage, then the places of the tokens of two tiles.
  template <int kHead>
  static constexpr std::size_t kSharedBytes =
      2 * (kQueries<kHead> * kHead + kStages * 2 * kTileElements<kHead>)+2 * kPrefillKeys *
          sizeof(TokenPlace) +
      sizeof(PrefillWork);

  /// Attends for every row and head of the batch. \throws Error for sizes that it does not take
  template <typename Query, typename Stored>
  static void launch(const PagedAttentionParams& params);
};

// Calls begin(row, place, element) for this thread's chunks of a tile in shared memory: `place` is where the chunk
// lies in the tile, `element` the first of its row that it holds.
template <int kHead, int kRows, typename Begin>
__device__ __forceinline__ void for_own_chunks(Begin begin) {
  constexpr int kChunks = kHead / kChunkElements;  // of a row
  constexpr int kRowsPerRound = PrefillPipelined::kThreads<kHead> / kChunks;
  static_assert(kRowsPerRound % 8 == 0, "the swizzle of a thread's rows is the same");
  const int own_row = static_cast<int>(threadIdx.x / kChunks);
  const int chunk = static_cast<int>(threadIdx.x % kChunks);
  const int own_place = swizzled<kHead>(own_row, chunk);
  PAGELAB_UNROLL for (int first_row = 0; first_row < kRows; first_row += kRowsPerRound) {
    if (first_row + own_row >= kRows) continue;  // in the last round
    begin(first_row + own_row, first_row * kHead + own_place, chunk * kChunkElements);
  }
}

template <typename Query, typename Stored, int kHead>
__global__ void __launch_bounds__(PrefillPipelined::kThreads<kHead>, 1)
    paged_prefill_pipelined(PagedAttentionParams params) {
  using Rung = PrefillPipelined;
  // Which rows and keys this thread block works for.
  const std::int32_t num_query_heads = static_cast<std::int32_t>(params.num_query_heads);
  const std::int32_t num_tiles = static_cast<std::int32_t>(gridDim.x) / num_query_heads;
  const std::int32_t cta_idx = static_cast<std::int32_t>(blockIdx.x);
  PrefillWork all_work;
  all_work.head_idx = cta_idx % num_query_heads;
  all_work.kv_head_idx =
      all_work.head_idx / (num_query_heads / static_cast<std::int32_t>(params.num_kv_heads));
  all_work.tile =
      query_tile_of(params, num_tiles - 1 - cta_idx / num_query_heads, Rung::kQueries<kHead>);
  if (all_work.tile.num_rows == 0) return;
  if (all_work.tile.is_padding) {
    store_padding(params, all_work.tile, all_work.head_idx);
    return;
  }
  const KeyRange visible_keys = visible_keys_of(params, all_work.tile);
  all_work.begin_key = static_cast<std::int32_t>(visible_keys.begin);
  all_work.end_key = static_cast<std::int32_t>(visible_keys.end);
  const int first_tile = all_work.begin_key / kPrefillKeys;
  const int end_tile = (all_work.end_key + kPrefillKeys - 1) / kPrefillKeys;

  Query* const query_tile = dynamic_shared_memory<Query>();         // [kQueries, kHead], swizzled
  Query* const tiles = query_tile + Rung::kQueries<kHead> * kHead;  // keys, values of each stage
  TokenPlace* const all_places = reinterpret_cast<TokenPlace*>(
      tiles + Rung::kStages * 2 * Rung::kTileElements<kHead>);  // [2, kPrefillKeys]
  PrefillWork& work = *reinterpret_cast<PrefillWork*>(all_places + 2 * kPrefillKeys);
  if (threadIdx.x == 0) work = all_work;
  __syncthreads();

  // Which rows this warp works for, and which row of a matrix this lane names to ldmatrix.
  const int warp_idx = static_cast<int>(threadIdx.x) / 32;
  const int lane_idx = static_cast<int>(threadIdx.x) % 32;
  const int matrix = lane_idx / 8;
  const int matrix_row = lane_idx % 8;
  const auto warp_tile_again = [&] { return part_of(work.tile, warp_idx, kRowsPerWarp); };
  // Tiles that some row of this warp sees, and among them those of which every row sees every key.
  const QueryTile warp_tile = warp_tile_again();
  const KeyRange keys_of_warp =
      warp_tile.num_rows > 0 ? visible_keys_of(params, warp_tile) : KeyRange{0, 0};
  const int first_tile_of_warp = static_cast<int>(keys_of_warp.begin) / kPrefillKeys;
  const int end_tile_of_warp =
      (static_cast<int>(keys_of_warp.end) + kPrefillKeys - 1) / kPrefillKeys;
  const KeyRange whole_keys = seen_by_all(params, warp_tile);
  const int first_whole_tile =
      (static_cast<int>(whole_keys.begin) + kPrefillKeys - 1) / kPrefillKeys;
  const int end_whole_tile = static_cast<int>(whole_keys.end) / kPrefillKeys;

  const float k_scale = kIsFp8<Stored> ? params.k_scales[work.kv_head_idx] : 1.0f;
  const ScoreFactor score_factor = score_factor_of(params, k_scale);

  // Step 1: locate the block
  // The first 64 threads, for the tokens of one tile. In 32 bits, which positions fit into: a division of 64 bits
  // is a hundred instructions.
  const auto locate = [&](int key_tile) {
    if (threadIdx.x >= kPrefillKeys || key_tile >= end_tile) return;
    const std::int32_t position = key_tile * kPrefillKeys + static_cast<std::int32_t>(threadIdx.x);
    const std::int32_t block_size = static_cast<std::int32_t>(params.block_size);
    TokenPlace place = {kNoToken, kNoToken};
    if (position >= work.begin_key && position < work.end_key) {
      const std::int32_t* block_table_row = block_table_row_of(params, work.tile.req_idx);
      const std::int64_t physical_block = block_table_row[position / block_size];
      const std::int64_t block_offset = position % block_size;
      place.key = physical_block * params.key_strides.block +
                  block_offset * params.key_strides.token +
                  work.kv_head_idx * params.key_strides.head;
      place.value = physical_block * params.value_strides.block +
                    block_offset * params.value_strides.token +
                    work.kv_head_idx * params.value_strides.head;
    }
    all_places[key_tile % 2 * kPrefillKeys + static_cast<int>(threadIdx.x)] = place;
  };
  const Stored* const keys = static_cast<const Stored*>(params.key_cache);
  const Stored* const values = static_cast<const Stored*>(params.value_cache);
  const auto begin_tile = [&](int key_tile) {
    if (key_tile < end_tile) {
      const TokenPlace* places = all_places + key_tile % 2 * kPrefillKeys;
      Query* key_rows = tiles + key_tile % Rung::kStages * 2 * Rung::kTileElements<kHead>;
      Query* value_rows = key_rows + Rung::kTileElements<kHead>;
      for_own_chunks<kHead, kPrefillKeys>([&](int row, int place, int element) {
        // The address of a token that is not read goes nowhere, and nobody looks.
        const TokenPlace token = places[row];
        const bool is_seen = token.key >= 0;
        begin_chunk(key_rows + place, keys + token.key + element,
                    is_seen && element < static_cast<int>(params.head_size));
        begin_chunk(value_rows + place, values + token.value + element,
                    is_seen && element < static_cast<int>(params.head_size_v));
      });
    }
    cp_async_commit();
  };

  // Before the loop: the queries and the first tile are on their way, the places of the second are known.
  locate(first_tile);
  const Query* all_queries = static_cast<const Query*>(params.query);
  for_own_chunks<kHead, Rung::kQueries<kHead>>([&](int row, int place, int element) {
    const std::int64_t row_idx =
        (work.tile.first_token + row) * params.num_query_heads + work.head_idx;
    begin_chunk(query_tile + place, all_queries + row_idx * params.head_size + element,
                row < work.tile.num_rows && element < static_cast<int>(params.head_size));
  });
  __syncthreads();
  begin_tile(first_tile);
  locate(first_tile + 1);

  // Where the first chunks are that this lane names to ldmatrix, in a tile: the others are an xor away.
  const int query_place =
      swizzled<kHead>(warp_idx * kRowsPerWarp + matrix % 2 * 8 + matrix_row, matrix / 2);
  const int key_place = swizzled<kHead>(matrix / 2 * 8 + matrix_row, matrix % 2);
  const int value_place = swizzled<kHead>(matrix % 2 * 8 + matrix_row, matrix / 2);

  RowPair state = first_state(params, work.head_idx, lane_idx);
  float acc[kHead / 8][4] = {};
  for (int key_tile = first_tile; key_tile < end_tile; ++key_tile) {
    cp_async_wait<0>();  // this thread's part of the tile has arrived
    __syncthreads();     // everybody's has; and nobody reads the other stage any more
    begin_tile(key_tile + 1);
    locate(key_tile + 2);
    // A warp whose rows see nothing of this tile has nothing to add.
    if (key_tile < first_tile_of_warp || key_tile >= end_tile_of_warp) continue;
    const std::int64_t first_key = static_cast<std::int64_t>(key_tile) * kPrefillKeys;
    const int keys_place = key_tile % Rung::kStages * 2 * Rung::kTileElements<kHead>;
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
    if (score_factor.has_options) {
      finish_scores(params, warp_tile_again(), work.head_idx, k_scale, first_key, lane_idx, scores);
    }
    if (key_tile < first_whole_tile || key_tile >= end_whole_tile) {
      hide_scores(params, warp_tile_again(), first_key, lane_idx, scores);
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

  // Step 5: normalise
  cp_async_wait<0>();
  const QueryTile own_rows = warp_tile_again();
  if (own_rows.num_rows > 0) {
    store_rows<Query, Stored>(params, own_rows, work.head_idx, lane_idx, state, acc);
  }
}

// Attends for every row and head of the batch.
template <typename Query, typename Stored>
void PrefillPipelined::launch(const PagedAttentionParams& params) {
  require_taken(kName, refusal_of_tensor_cores(with_dtypes<Query, Stored>(params)));
  require_range(kName, "block_size", params.block_size, 1, std::int64_t{1} << 30);
  if (params.num_tokens == 0) return;
  with_head_capacity(params, [&]<int kHead>() {
    const std::int64_t num_tiles = num_query_tiles(params, kQueries<kHead>);
    pagelab::launch(kName, ctas_for(num_tiles * params.num_query_heads, 1), kThreads<kHead>,
                    paged_prefill_pipelined<Query, Stored, kHead>, params, kSharedBytes<kHead>);
  });
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
