// paged_prefill, rung 3: swizzled shared memory, ldmatrix, and copies that run ahead.
//
// Problem  out[t,h] = softmax(scale · query[t,h] · Kᵀ) · V over those keys of the token's request
//          that row t sees; lse[h,t] = ln Σ exp(score). Keys and values lie in a paged cache.
// Shapes   query [num_tokens, num_query_heads, head_size], 16 bits an element
//          block_table [num_reqs, max_blocks_per_req]
//          key_cache [num_blocks, block_size, num_kv_heads, head_size], through strides
//          value_cache [num_blocks, block_size, num_kv_heads, head_size_v], through strides
//          out [num_tokens, num_query_heads, head_size_v], lse [num_query_heads, num_tokens], float32
// Mapping  thread block of eight warps → 128 neighbouring queries of one request, for one head; warp w →
//          rows 16w … 16w + 15, as in rung 2. Two tiles of 64 keys and values are in shared memory, one
//          that is multiplied and one that is on its way:
//
//              copies     tile 1 ░░░░░░  tile 2 ░░░░░░  tile 3 ░░░░░░
//              products         tile 0 ▓▓▓▓▓▓▓ tile 1 ▓▓▓▓▓▓▓ tile 2 ▓▓▓▓▓▓▓
//                                     barrier        barrier
//
//          A row of a tile is a number of chunks of 16 bytes; chunk c of row r lies in place c xor (r mod 8):
//
//              place   0 1 2 3 4 5 6 7        ldmatrix takes the same chunk of eight rows at once. So they lie
//              row 0   0 1 2 3 4 5 6 7        in eight different places, which are all 32 banks: no conflict.
//              row 1   1 0 3 2 5 4 7 6
//              row 2   2 3 0 1 6 7 4 5   …
//
// Cost     per thread block, 2 · 64 · head · 2 bytes a tile from L2 for 128 rows, where rung 2 reads them
//          for 64. A warp issues, for 8 keys and 16 rows of a head of 128: 16 mma, 8 ldmatrix, and 4
//          exponentials a lane of about 15 instructions each: the tensor cores limit it, and the exponentials
//          nearly do. One warp's products run under another's softmax: two warps share each of the four tensor
//          cores of a multiprocessor. More would not fit: for Hopper nvcc gives a thread 254 registers with a
//          head of 128, 219 with one of 64, and none goes to memory. With a head of 256 some do, although its
//          queries stay in shared memory.
// Change   rung 2 loaded a tile, waited, multiplied, waited; its operands came 2 and 4 bytes at a time out of
//          the same banks. Here cp.async copies 16 bytes from global to shared memory while the tile before
//          is multiplied, and one ldmatrix brings the operands of two mma. Queries are loaded once, into
//          registers (heads up to 128). One barrier a tile instead of two. The block table is asked once
//          a tile, by the first 64 threads, one tile ahead of the copies. The longest tiles of a causal
//          batch are launched first, so that short ones fill the end; heads of a group are neighbours in the
//          grid, and share keys and values in L2. Sums are not multiplied by 1: if no row of a warp has a
//          new maximum, the rescaling is left out. 16,384 tokens: 212 TFLOP/s instead of 14 on an H200
//          (shape and log: 1_tiled.cuh), 31 % of a product of cuBLAS. A warp's 16 rows read all of a tile out of shared memory, 256 KiB
//          for eight warps: at 128 bytes a clock that alone takes 2,048 clocks.
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
#include "gpu/kernels/paged_attention/page_table.h"
#include "gpu/kernels/paged_prefill/tensor_core_checks.h"
#include "gpu/kernels/paged_prefill/warp_softmax.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// Where a token's key and value begin, in elements from the first of the head.
struct TokenPlace {
  std::int64_t key;    ///< kNoToken: no row sees it
  std::int64_t value;  ///< likewise
};

/// The constants of rung 3, and its launcher.
struct PrefillPipelined {
  static constexpr const char* kName = "paged_prefill/3_pipelined";    ///< for messages
  static constexpr int kQueries = 128;                                 ///< of a tile
  static constexpr int kThreadsPerCta = kQueries / kRowsPerWarp * 32;  ///< a warp each 16 rows
  static constexpr int kStages = 2;             ///< tiles of keys in shared memory
  static constexpr int kChunkElements = 8;      ///< 16 bytes
  static constexpr std::int64_t kNoToken = -1;  ///< a place that is not read

  /// A tile of keys or of values.
  template <int kHead>
  static constexpr int kTileElements = kPrefillKeys* kHead;
  /// Queries, then keys and values of each stage, then the places of the tokens of two tiles.
  template <int kHead>
  static constexpr std::size_t kSharedBytes =
      2 * (kQueries * kHead + kStages * 2 * kTileElements<kHead>)+2 * kPrefillKeys *
      sizeof(TokenPlace);

  /// Attends for every row and head of the batch. \throws Error for sizes that it does not take
  template <typename Query, typename Stored>
  static void launch(const PagedAttentionParams& params);
};

// Where a chunk of a row lies in a tile whose rows have kHead elements.
template <typename Operand, int kHead>
__device__ __forceinline__ Operand* swizzled(Operand* tile, int row, int chunk) {
  return tile + row * kHead + (chunk ^ (row & 7)) * PrefillPipelined::kChunkElements;
}

// Begins to bring one chunk of a row into shared memory: a copy for elements of 16 bits, a conversion for
// fp8. Chunks that do not exist become zeros: what lies in their place may be anything.
template <typename Operand, typename Stored>
__device__ __forceinline__ void begin_chunk(Operand* shared, const Stored* global, bool exists) {
  if constexpr (kIsSame<Operand, Stored>) {
    cp_async<16>(shared, global, exists ? 16 : 0);
  } else {
    std::uint32_t* words = reinterpret_cast<std::uint32_t*>(shared);
    PAGELAB_UNROLL for (int word = 0; word < 4; ++word) {
      words[word] = exists ? pair_of<Operand>(global[2 * word], global[2 * word + 1]) : 0u;
    }
  }
}

// Begins to bring rows of a tile into shared memory.
// \param first_of  the first element of a row of the tile, or nullptr if it is not to be read
// \param fallback  an address that may be named where nothing is read
template <int kHead, int kRows, typename Operand, typename Stored, typename FirstOf>
__device__ __forceinline__ void begin_rows(Operand* tile,
                                           int head_size,
                                           const Stored* fallback,
                                           FirstOf first_of) {
  constexpr int kChunks = kHead / PrefillPipelined::kChunkElements;  // of a row
  constexpr int kRounds = kRows * kChunks / PrefillPipelined::kThreadsPerCta;
  static_assert(kRows * kChunks % PrefillPipelined::kThreadsPerCta == 0, "no thread idles");
  PAGELAB_UNROLL for (int round = 0; round < kRounds; ++round) {
    const int idx = round * PrefillPipelined::kThreadsPerCta + static_cast<int>(threadIdx.x);
    const int row = idx / kChunks;
    const int chunk = idx % kChunks;
    const int element = chunk * PrefillPipelined::kChunkElements;
    const Stored* first = first_of(row);
    const bool exists = first != nullptr && element < head_size;
    begin_chunk(swizzled<Operand, kHead>(tile, row, chunk), exists ? first + element : fallback,
                exists);
  }
}

template <typename Query, typename Stored, int kHead>
__global__ void __launch_bounds__(PrefillPipelined::kThreadsPerCta, 1)
    paged_prefill_pipelined(PagedAttentionParams params) {
  using Rung = PrefillPipelined;
  constexpr bool kQueriesInRegisters = kHead <= 128;
  const std::int64_t head_idx = blockIdx.x % params.num_query_heads;
  const std::int64_t tile_idx =
      gridDim.x / params.num_query_heads - 1 - blockIdx.x / params.num_query_heads;
  const QueryTile tile = query_tile_of(params, tile_idx, Rung::kQueries);
  if (tile.num_rows == 0) return;
  if (tile.is_padding) {
    store_padding(params, tile, head_idx);
    return;
  }

  // Which rows this warp works for, and which row of a matrix this lane names to ldmatrix.
  const int warp_idx = static_cast<int>(threadIdx.x) / 32;
  const int lane_idx = static_cast<int>(threadIdx.x) % 32;
  const int matrix = lane_idx / 8;
  const int matrix_row = lane_idx % 8;
  const QueryTile warp_tile = warp_tile_of(tile, warp_idx);
  const std::int64_t kv_head_idx = head_idx / (params.num_query_heads / params.num_kv_heads);
  const Stored* keys =
      static_cast<const Stored*>(params.key_cache) + kv_head_idx * params.key_strides.head;
  const Stored* values =
      static_cast<const Stored*>(params.value_cache) + kv_head_idx * params.value_strides.head;
  const std::int32_t* block_table_row = block_table_row_of(params, tile.req_idx);
  const float k_scale = kIsFp8<Stored> ? params.k_scales[kv_head_idx] : 1.0f;
  const ScoreFactor score_factor = score_factor_of(params, k_scale);

  Query* const query_tile = dynamic_shared_memory<Query>();  // [kQueries, kHead], swizzled
  Query* const tiles = query_tile + Rung::kQueries * kHead;  // keys, values of each stage
  TokenPlace* const all_places = reinterpret_cast<TokenPlace*>(
      tiles + Rung::kStages * 2 * Rung::kTileElements<kHead>);  // [2, kPrefillKeys]
  // In 32 bits, which positions fit into: registers are scarce, and a division of 64 bits is a hundred
  // instructions.
  const KeyRange visible_keys = visible_keys_of(params, tile);
  const int begin_key = static_cast<int>(visible_keys.begin);
  const int end_key = static_cast<int>(visible_keys.end);
  const int first_tile = begin_key / kPrefillKeys;
  const int end_tile = (end_key + kPrefillKeys - 1) / kPrefillKeys;
  const KeyRange keys_of_warp =
      warp_tile.num_rows > 0 ? visible_keys_of(params, warp_tile) : KeyRange{0, 0};
  const int first_tile_of_warp = static_cast<int>(keys_of_warp.begin) / kPrefillKeys;
  const int end_tile_of_warp =
      (static_cast<int>(keys_of_warp.end) + kPrefillKeys - 1) / kPrefillKeys;

  // Step 1: locate the block
  // The first 64 threads, for the tokens of one tile.
  const auto locate = [&](int key_tile) {
    if (threadIdx.x >= kPrefillKeys || key_tile >= end_tile) return;
    const std::int32_t position = key_tile * kPrefillKeys + static_cast<std::int32_t>(threadIdx.x);
    const std::int32_t block_size = static_cast<std::int32_t>(params.block_size);
    TokenPlace place = {Rung::kNoToken, Rung::kNoToken};
    if (position >= begin_key && position < end_key) {
      const std::int64_t physical_block = block_table_row[position / block_size];
      const std::int64_t block_offset = position % block_size;
      place.key =
          physical_block * params.key_strides.block + block_offset * params.key_strides.token;
      place.value =
          physical_block * params.value_strides.block + block_offset * params.value_strides.token;
    }
    all_places[key_tile % 2 * kPrefillKeys + static_cast<int>(threadIdx.x)] = place;
  };
  const auto begin_tile = [&](int key_tile) {
    if (key_tile < end_tile) {
      const TokenPlace* places = all_places + key_tile % 2 * kPrefillKeys;
      Query* key_rows = tiles + key_tile % Rung::kStages * 2 * Rung::kTileElements<kHead>;
      Query* value_rows = key_rows + Rung::kTileElements<kHead>;
      begin_rows<kHead, kPrefillKeys>(key_rows, static_cast<int>(params.head_size), keys,
                                      [&](int row) {
                                        const std::int64_t place = places[row].key;
                                        return place == Rung::kNoToken ? nullptr : keys + place;
                                      });
      begin_rows<kHead, kPrefillKeys>(value_rows, static_cast<int>(params.head_size_v), values,
                                      [&](int row) {
                                        const std::int64_t place = places[row].value;
                                        return place == Rung::kNoToken ? nullptr : values + place;
                                      });
    }
    cp_async_commit();
  };

  // Before the loop: the queries and the first tile are on their way, the places of the second are known.
  locate(first_tile);
  const Query* all_queries = static_cast<const Query*>(params.query);
  begin_rows<kHead, Rung::kQueries>(
      query_tile, static_cast<int>(params.head_size), all_queries, [&](int row) {
        const std::int64_t row_idx = (tile.first_token + row) * params.num_query_heads + head_idx;
        return row < tile.num_rows ? all_queries + row_idx * params.head_size : nullptr;
      });
  __syncthreads();
  begin_tile(first_tile);
  locate(first_tile + 1);

  // This lane's part of the queries: the operand A of each 16 elements.
  std::uint32_t queries[kQueriesInRegisters ? kHead / 16 : 1][4];
  const auto load_queries = [&](int step, std::uint32_t(&a)[4]) {
    const int row = warp_idx * kRowsPerWarp + matrix % 2 * 8 + matrix_row;
    ldmatrix_x4(a, swizzled<Query, kHead>(query_tile, row, 2 * step + matrix / 2));
  };

  RowPair state = first_state(params, head_idx, lane_idx);
  float acc[kHead / 8][4] = {};
  for (int key_tile = first_tile; key_tile < end_tile; ++key_tile) {
    cp_async_wait<0>();  // this thread's part of the tile has arrived
    __syncthreads();     // everybody's has; and nobody reads the other stage any more
    begin_tile(key_tile + 1);
    locate(key_tile + 2);
    if constexpr (kQueriesInRegisters) {
      if (key_tile == first_tile) {
        PAGELAB_UNROLL for (int step = 0; step < kHead / 16; ++step) {
          load_queries(step, queries[step]);
        }
      }
    }
    // A warp whose rows see nothing of this tile has nothing to add.
    if (key_tile < first_tile_of_warp || key_tile >= end_tile_of_warp) continue;
    const std::int64_t first_key = static_cast<std::int64_t>(key_tile) * kPrefillKeys;
    const KeyRange keys_of_tile = {first_key, first_key + kPrefillKeys};
    Query* const key_rows = tiles + key_tile % Rung::kStages * 2 * Rung::kTileElements<kHead>;
    Query* const value_rows = key_rows + Rung::kTileElements<kHead>;

    // Step 2: scores
    // One ldmatrix of four matrices: 16 keys by 16 elements, the operands B of two mma.
    float scores[kPrefillKeys / 8][4] = {};
    PAGELAB_UNROLL for (int step = 0; step < kHead / 16; ++step) {
      std::uint32_t a[4];
      if constexpr (kQueriesInRegisters) {
        PAGELAB_UNROLL for (int i = 0; i < 4; ++i) a[i] = queries[step][i];
      } else {
        load_queries(step, a);
      }
      PAGELAB_UNROLL for (int n = 0; n < kPrefillKeys / 8; n += 2) {
        std::uint32_t b[4];
        const int row = 8 * n + matrix / 2 * 8 + matrix_row;
        ldmatrix_x4(b, swizzled<Query, kHead>(key_rows, row, 2 * step + matrix % 2));
        const std::uint32_t first_keys[2] = {b[0], b[1]};
        const std::uint32_t next_keys[2] = {b[2], b[3]};
        multiply_add<Query>(scores[n], a, first_keys);
        multiply_add<Query>(scores[n + 1], a, next_keys);
      }
    }
    if (score_factor.has_options) {
      finish_scores(params, warp_tile, head_idx, k_scale, first_key, lane_idx, scores);
    }
    if (!all_see_all(params, warp_tile, keys_of_tile)) {
      hide_scores(params, warp_tile, first_key, lane_idx, scores);
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
        const int row = 16 * step + matrix % 2 * 8 + matrix_row;
        ldmatrix_x4_trans(b, swizzled<Query, kHead>(value_rows, row, n + matrix / 2));
        const std::uint32_t first_elements[2] = {b[0], b[1]};
        const std::uint32_t next_elements[2] = {b[2], b[3]};
        multiply_add<Query>(acc[n], a, first_elements);
        multiply_add<Query>(acc[n + 1], a, next_elements);
      }
    }
  }

  // Step 5: normalise
  cp_async_wait<0>();
  if (warp_tile.num_rows > 0) {
    store_rows<Query, Stored>(params, warp_tile, head_idx, lane_idx, state, acc);
  }
}

// Attends for every row and head of the batch.
template <typename Query, typename Stored>
void PrefillPipelined::launch(const PagedAttentionParams& params) {
  require_taken(kName, refusal_of_tensor_cores(with_dtypes<Query, Stored>(params)));
  require_range(kName, "block_size", params.block_size, 1, std::int64_t{1} << 30);
  if (params.num_tokens == 0) return;
  const std::int64_t num_ctas = num_query_tiles(params, kQueries) * params.num_query_heads;
  with_head_capacity(params, [&]<int kHead>() {
    pagelab::launch(kName, ctas_for(num_ctas, 1), kThreadsPerCta,
                    paged_prefill_pipelined<Query, Stored, kHead>, params, kSharedBytes<kHead>);
  });
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
