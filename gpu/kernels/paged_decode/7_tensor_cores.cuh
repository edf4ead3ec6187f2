// paged_decode, rung 7: the query heads of a KV head are the rows of a matrix, so tensor cores multiply.
//
// Problem  out[t,h] = softmax(scale · query[t,h] · Kᵀ) · V over those keys of the token's request
//          that row t sees; lse[h,t] = ln Σ exp(score). Keys and values lie in a paged cache.
// Shapes   query [num_tokens, num_query_heads, head_size], 16 bits an element
//          block_table [num_reqs, max_blocks_per_req]
//          key_cache [num_blocks, block_size, num_kv_heads, head_size], through strides
//          value_cache [num_blocks, block_size, num_kv_heads, head_size_v], through strides
//          out [num_tokens, num_query_heads, head_size_v], lse [num_query_heads, num_tokens], float32
// Mapping  thread block i → up to 16 query heads of one KV head, a partition of 512 keys and a row. Its four warps
//          take tiles of 16 keys in turn, each with a ring of tiles of its own in shared memory: no thread block
//          waits for itself before the end. A tile is two products of matrices, whose rows are heads:
//
//                        keys 0 … 15                 elements 0 … head
//              head 0   ┌───────────┐               ┌─────────────────┐     Heads that are not there are rows
//                ⋮      │  scores   │   weights  →  │  Σ weight · v   │     of zeros: with 4 heads three quarters
//              head 15  └───────────┘               └─────────────────┘     of a product are for nothing.
//
//          The fragments of scores are those that the second product wants (gpu/device/mma.h), as in
//          paged_prefill; a tile's rows lie as paged_attention/swizzled_tile.h draws it.
// Cost     each key and value of a KV head once a row, by 16-byte copies: at head size 128 three tiles of 8 KiB a
//          warp, two of them under way, and two thread blocks a multiprocessor: 128 KiB under way. For 16 keys
//          a warp issues 32 mma, 16 ldmatrix, 16 copies and 4 exponentials a lane. Memory bandwidth limits it.
// Change   rung 6 multiplied on the ordinary cores: of its 341 million instructions a launch, most serve the
//          conversion of 16-bit elements, their fma, and the sums over eight lanes. A tensor core takes 16 bits as
//          they are and adds by itself, even though most of its rows are idle: 207 million instructions. A
//          thread block need not wait for its block table: a warp locates its own keys. 64 × 8192 keys: 0.550 ms
//          instead of 0.556 on an H200 (docs/measurements/2026-11-30-h200-ladders.txt; shapes: 3_cta.cuh), 87 % of the
//          rate at which a kernel there only reads. The gain is small at four heads a group: both rungs wait for memory.
// Order    a score's product is summed by tensor cores (docs/tensor_cores.md), 16 elements at a time in increasing
//          order. A tile joins its warp's state in base 2: with the new maximum, acc and the lanes' parts of l are
//          multiplied by 2^(old − new); a lane adds its four weights to its part of l; the weights, rounded to 16
//          bits, multiply the values on tensor cores. At the end the four lanes of a row add their parts of l
//          (1, then 2 apart), the warps are merged by weights in increasing order, and for fp8 acc is multiplied by
//          v_scale. Partitions: reduce_base_2.cuh. A term passes 6 roundings more for each tile of its warp, one in
//          64 keys, and 6 for each of the two merges (5 are ex2_approx's: docs/ex2.md). Neither block size nor
//          block table nor other rows change a bit.
// Expects  a valid step, as rung 6 does, and what all tensor-core rungs do: 16 bits an element, or fp8 codes, which
//          are converted on their way to shared memory; heads that are multiples of 16 up to 256.
// Words    cp_async, ldmatrix, mma: gpu/device. dynamic_shared_memory: gpu/device/shared_memory.h.
#pragma once

#include "gpu/device/cp_async.h"
#include "gpu/device/ex2.h"
#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/device/ldmatrix.h"
#include "gpu/device/shared_memory.h"
#include "gpu/device/unroll.h"
#include "gpu/kernels/paged_attention/cache_place.h"
#include "gpu/kernels/paged_attention/page_table.h"
#include "gpu/kernels/paged_attention/params.h"
#include "gpu/kernels/paged_attention/query_row.h"
#include "gpu/kernels/paged_attention/score.h"
#include "gpu/kernels/paged_attention/swizzled_tile.h"
#include "gpu/kernels/paged_attention/tensor_core_checks.h"
#include "gpu/kernels/paged_attention/tensor_core_operands.h"
#include "gpu/kernels/paged_decode/decode_checks.h"
#include "gpu/kernels/paged_decode/head_pack.h"
#include "gpu/kernels/paged_decode/partitions.h"
#include "gpu/kernels/paged_decode/reduce_base_2.cuh"
#include "gpu/kernels/paged_decode/reduce_partitions.cuh"
#include "reference/numerics/exact_math.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// The constants of rung 7, and its launcher.
struct DecodeTensorCores {
  static constexpr const char* kName = "paged_decode/7_tensor_cores";  ///< for messages
  static constexpr int kHeads = 16;            ///< query heads of a pack: rows of an mma
  static constexpr int kTileKeys = 16;         ///< keys of a warp's tile
  static constexpr int kWarps = kDecodeWarps;  ///< of a thread block

  /// Tiles of a warp in shared memory.
  template <int kHead>
  static constexpr int kStages = kHead <= 64    ? 4
                                 : kHead <= 128 ? 3
                                                : 2;
  template <int kHead>
  static constexpr int kTileElements = kTileKeys* kHead;  ///< of keys, or of values
  /// Floats from one head's output to the next where warps merge: 8 more, so that the heads of a fragment
  /// lie in different banks.
  template <int kHead>
  static constexpr int kOutputStride = kHead + 8;
  /// The rings of all warps, then the places of the partition's tokens.
  template <int kHead>
  static constexpr std::size_t kSharedBytes = kWarps* kStages<kHead> * 2 * kTileElements<kHead> *
                                                  2 +
                                              kPartitionLen * sizeof(TokenPlace);

  /// Attends for every row and head of the batch. \throws Error for sizes that it does not take
  template <typename Query, typename Stored>
  static void launch(const PagedAttentionParams& params);
};

/// What a warp knows of two rows of scores: heads `group` and `group + 8` of the pack.
struct HeadPair {
  float m[2];  ///< largest exponent so far, in base 2; all four lanes of a group have it
  float l[2];  ///< sum of the weights that this lane has computed
};

template <typename Query, typename Stored, int kHead>
__global__ void __launch_bounds__(kDecodeThreads, kHead <= 128 ? 2 : 1)
    paged_decode_tensor_cores(PagedAttentionParams params) {
  using Rung = DecodeTensorCores;
  constexpr int kStages = Rung::kStages<kHead>;
  constexpr int kTileElements = Rung::kTileElements<kHead>;
  Query* const ring = dynamic_shared_memory<Query>();  // [kWarps, kStages, keys and values, tile]
  TokenPlace* const places = reinterpret_cast<TokenPlace*>(
      ring + Rung::kWarps * kStages * 2 * kTileElements);  // [kPartitionLen]

  // Which heads, partition and row this thread block owns, and which keys of it the row sees.
  const PartitionStates states = partition_states(params);
  const std::int64_t packs_per_row = num_packs(params, Rung::kHeads);
  const std::int64_t cta_idx = blockIdx.x;
  const HeadPack pack = head_pack(params, Rung::kHeads, cta_idx % packs_per_row);
  const std::int64_t partition = cta_idx / packs_per_row % states.partitions_per_row;
  const std::int64_t token_idx = cta_idx / packs_per_row / states.partitions_per_row;
  QueryRow row = decode_row_of(params, token_idx, pack.first_head_idx);
  if (row.is_padding) return;
  const std::int64_t first_position = partition * kPartitionLen;
  const KeyRange visible = visible_part(params, row, first_position);
  if (visible.begin >= visible.end) return;                                // the reduce knows, too
  const int begin_key = static_cast<int>(visible.begin - first_position);  // in the partition
  const int end_key = static_cast<int>(visible.end - first_position);

  // Step 1: locate the block
  // Each warp for all keys of its tiles, before it needs one.
  const int thread_idx = static_cast<int>(threadIdx.x);
  const int warp_idx = thread_idx / 32;
  const int lane_idx = thread_idx % 32;
  const std::int32_t* block_table_row = block_table_row_of(params, row.req_idx);
  for (int i = lane_idx; i < kPartitionLen / Rung::kWarps; i += 32) {
    const int key = (i / Rung::kTileKeys * Rung::kWarps + warp_idx) * Rung::kTileKeys +
                    i % Rung::kTileKeys;  // in the partition
    const std::int32_t position = static_cast<std::int32_t>(first_position) + key;
    TokenPlace place = {kNoToken, kNoToken};
    if (key >= begin_key && key < end_key && sees(params, row, position)) {
      const CachePlace slot = place_of(block_table_row, params.block_size, position);
      place = {slot.offset(params.key_strides), slot.offset(params.value_strides)};
    }
    places[key] = place;
  }
  __syncwarp();

  const int group = lane_idx / 4;
  const int pair = lane_idx % 4;
  const int matrix =
      lane_idx / 8;  // of the four that an ldmatrix brings, whose row this lane names
  const int matrix_row = lane_idx % 8;
  const Stored* keys =
      static_cast<const Stored*>(params.key_cache) + row.kv_head_idx * params.key_strides.head;
  const Stored* values =
      static_cast<const Stored*>(params.value_cache) + row.kv_head_idx * params.value_strides.head;
  const int head_size = static_cast<int>(params.head_size);
  const int head_size_v = static_cast<int>(params.head_size_v);
  Query* const stages = ring + warp_idx * kStages * 2 * kTileElements;  // of this warp

  // Begins to bring a tile into a stage.
  const int first_tile = begin_key / Rung::kTileKeys;
  const int end_tile = (end_key + Rung::kTileKeys - 1) / Rung::kTileKeys;
  const auto begin_tile = [&](int tile, int stage) {
    if (tile < end_tile) {
      constexpr int kChunks = kHead / kChunkElements;  // of a row
      const int chunk = lane_idx % kChunks;
      const int element = chunk * kChunkElements;
      PAGELAB_UNROLL for (int round = 0; round < Rung::kTileKeys * kChunks / 32; ++round) {
        const int key = (round * 32 + lane_idx) / kChunks;
        const TokenPlace place = places[tile * Rung::kTileKeys + key];
        const bool is_seen = place.key != kNoToken;
        const bool has_key = is_seen && element < head_size;
        const bool has_value = is_seen && element < head_size_v;
        Query* const chunk_of_key =
            stages + stage * 2 * kTileElements + swizzled<kHead>(key, chunk);
        begin_chunk(chunk_of_key, has_key ? keys + place.key + element : keys, has_key);
        begin_chunk(chunk_of_key + kTileElements,
                    has_value ? values + place.value + element : values, has_value);
      }
    }
    cp_async_commit();  // also where there was nothing to copy: groups are counted
  };
  // The tiles of this warp are warp_idx, warp_idx + 4, …
  int tile = first_tile + (warp_idx - first_tile % Rung::kWarps + Rung::kWarps) % Rung::kWarps;
  PAGELAB_UNROLL for (int stage = 0; stage < kStages - 1; ++stage) {
    begin_tile(tile + stage * Rung::kWarps, stage);
  }

  // This lane's part of the pack's queries: the operand A of each 16 elements. Heads that are not there are
  // zeros.
  std::uint32_t queries[kHead / 16][4];
  PAGELAB_UNROLL for (int half = 0; half < 2; ++half) {
    const int h = group + half * 8;
    const std::int64_t row_idx = token_idx * params.num_query_heads + pack.head_idx(h);
    const Query* query = static_cast<const Query*>(params.query) + row_idx * params.head_size;
    PAGELAB_UNROLL for (int step = 0; step < kHead / 16; ++step) {
      PAGELAB_UNROLL for (int part = 0; part < 2; ++part) {
        const int element = step * 16 + part * 8 + pair * 2;
        const bool exists = h < pack.num_heads && element < head_size;
        queries[step][part * 2 + half] =
            exists ? *reinterpret_cast<const std::uint32_t*>(query + element) : 0u;
      }
    }
  }
  // Where the first chunks are that this lane names to ldmatrix, in a tile: the others are an xor away.
  const int key_place = swizzled<kHead>(matrix / 2 * 8 + matrix_row, matrix % 2);
  const int value_place = swizzled<kHead>(matrix % 2 * 8 + matrix_row, matrix / 2);
  const float k_scale = kIsFp8<Stored> ? params.k_scales[row.kv_head_idx] : 1.0f;
  const ScoreFactor score_factor = score_factor_of(params, k_scale);
  const int num_halves = pack.num_heads > 8 ? 2 : 1;

  const float minus_infinity = float_from_bits(0xff800000u);
  HeadPair state = {{minus_infinity, minus_infinity}, {0.0f, 0.0f}};
  float acc[kHead / 8][4] = {};
  int stage = 0;
  for (; tile < end_tile; tile += Rung::kWarps) {
    cp_async_wait<kStages - 2>();  // this lane's part of the tile has arrived
    __syncwarp();                  // everybody's has; and nobody reads the stage before any more
    begin_tile(tile + (kStages - 1) * Rung::kWarps, stage == 0 ? kStages - 1 : stage - 1);
    const int key_tile_place = stage * 2 * kTileElements;
    const int value_tile_place = key_tile_place + kTileElements;
    stage = stage + 1 == kStages ? 0 : stage + 1;

    // Step 2: scores
    // Of 16 heads and 16 keys. One ldmatrix of four matrices: 16 keys by 16 elements.
    float scores[2][4] = {};
    PAGELAB_UNROLL for (int step = 0; step < kHead / 16; ++step) {
      std::uint32_t b[4];
      ldmatrix_x4(b, stages + ((key_tile_place + key_place) ^ 2 * step * kChunkElements));
      const std::uint32_t first_keys[2] = {b[0], b[1]};
      const std::uint32_t next_keys[2] = {b[2], b[3]};
      multiply_add<Query>(scores[0], queries[step], first_keys);
      multiply_add<Query>(scores[1], queries[step], next_keys);
    }
    const int first_key = tile * Rung::kTileKeys;
    const bool is_whole = first_key >= begin_key && first_key + Rung::kTileKeys <= end_key &&
                          params.num_mm_prefix_ranges == 0;
    if (score_factor.has_options || !is_whole) {
      PAGELAB_UNROLL for (int n = 0; n < 2; ++n) {
        PAGELAB_UNROLL for (int part = 0; part < 4; ++part) {
          const int key = first_key + 8 * n + pair * 2 + part % 2;
          if (score_factor.has_options) {
            row.head_idx = pack.head_idx(group + part / 2 * 8);
            scores[n][part] =
                scaled_score(params, row, scores[n][part] * k_scale, first_position + key);
          }
          if (places[key].key == kNoToken) scores[n][part] = minus_infinity;
        }
      }
    }

    // Step 3: softmax update
    bool changes = false;
    float rescaling[2] = {1.0f, 1.0f};
    PAGELAB_UNROLL for (int half = 0; half < 2; ++half) {
      if (half >= num_halves) break;
      float largest = fmaxf(fmaxf(scores[0][2 * half], scores[0][2 * half + 1]),
                            fmaxf(scores[1][2 * half], scores[1][2 * half + 1]));
      largest = fmaxf(largest, __shfl_xor_sync(kWholeWarp, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(kWholeWarp, largest, 2));
      const float m = fmaxf(state.m[half], largest * score_factor.factor);
      const float subtracted = base_of(m);
      rescaling[half] = ex2_approx(state.m[half] - subtracted);
      changes = changes || rescaling[half] != 1.0f;
      state.m[half] = m;
      float l = state.l[half] * rescaling[half];
      PAGELAB_UNROLL for (int i = 0; i < 4; ++i) {
        float& score = scores[i / 2][2 * half + i % 2];
        score = ex2_approx(fused_multiply_add(score, score_factor.factor, -subtracted));
        l = l + score;
      }
      state.l[half] = l;
    }

    // Step 4: weighted values
    if (__any_sync(kWholeWarp, changes ? 1 : 0) != 0) {
      PAGELAB_UNROLL for (int n = 0; n < kHead / 8; ++n) {
        PAGELAB_UNROLL for (int part = 0; part < 4; ++part) {
          acc[n][part] = acc[n][part] * rescaling[part / 2];
        }
      }
    }
    const std::uint32_t a[4] = {pagelab::pack<Query>(scores[0][0], scores[0][1]),
                                pagelab::pack<Query>(scores[0][2], scores[0][3]),
                                pagelab::pack<Query>(scores[1][0], scores[1][1]),
                                pagelab::pack<Query>(scores[1][2], scores[1][3])};
    PAGELAB_UNROLL for (int n = 0; n < kHead / 8; n += 2) {
      std::uint32_t b[4];
      ldmatrix_x4_trans(b, stages + ((value_tile_place + value_place) ^ n * kChunkElements));
      const std::uint32_t first_elements[2] = {b[0], b[1]};
      const std::uint32_t next_elements[2] = {b[2], b[3]};
      multiply_add<Query>(acc[n], a, first_elements);
      multiply_add<Query>(acc[n + 1], a, next_elements);
    }
  }
  cp_async_wait<0>();

  // Step 5: nothing here, reduce_base_2.cuh normalises
  // The four warps merge what they have; the ring has room for it.
  constexpr int kStride = Rung::kOutputStride<kHead>;
  __syncthreads();
  float* const outputs = reinterpret_cast<float*>(ring);  // [kWarps, kHeads, kStride]
  float* const maxima = outputs + Rung::kWarps * Rung::kHeads * kStride;  // [kWarps, kHeads]
  float* const sums = maxima + Rung::kWarps * Rung::kHeads;
  PAGELAB_UNROLL for (int half = 0; half < 2; ++half) {
    if (half >= num_halves) break;
    const int entry = warp_idx * Rung::kHeads + group + half * 8;
    float l = state.l[half];
    l = l + __shfl_xor_sync(kWholeWarp, l, 1);
    l = l + __shfl_xor_sync(kWholeWarp, l, 2);
    if (pair == 0) {
      maxima[entry] = state.m[half];
      sums[entry] = l;
    }
    PAGELAB_UNROLL for (int n = 0; n < kHead / 8; ++n) {
      float* const output = outputs + entry * kStride + 8 * n + 2 * pair;
      output[0] = acc[n][2 * half];
      output[1] = acc[n][2 * half + 1];
    }
  }
  __syncthreads();
  const float v_scale = kIsFp8<Stored> ? params.v_scales[row.kv_head_idx] : 1.0f;
  for (int index = thread_idx; index < pack.num_heads * kHead;
       index += static_cast<int>(kDecodeThreads)) {
    const int h = index / kHead;
    const int d = index % kHead;
    if (d >= head_size_v) continue;
    float m = minus_infinity;
    for (int warp = 0; warp < Rung::kWarps; ++warp) m = fmaxf(m, maxima[warp * Rung::kHeads + h]);
    const float base = base_of(m);
    float l = 0.0f;
    float sum = 0.0f;
    for (int warp = 0; warp < Rung::kWarps; ++warp) {
      const int entry = warp * Rung::kHeads + h;
      const float weight = ex2_approx(maxima[entry] - base);
      l = fused_multiply_add(weight, sums[entry], l);
      sum = fused_multiply_add(weight, outputs[entry * kStride + d], sum);
    }
    const std::int64_t row_idx = token_idx * params.num_query_heads + pack.head_idx(h);
    states.output(row_idx, partition)[d] = sum * v_scale;
    if (d > 0) continue;
    states.maxima[states.index(row_idx, partition)] = m;
    states.sums[states.index(row_idx, partition)] = l;
  }
}

// Attends for every row and head of the batch.
template <typename Query, typename Stored>
void DecodeTensorCores::launch(const PagedAttentionParams& params) {
  require_taken(kName, refusal_of_tensor_cores(with_dtypes<Query, Stored>(params)));
  require_max_seq_len(kName, params);
  if (params.num_tokens * params.num_query_heads == 0) return;
  require_workspace(kName, params);
  const std::int64_t num_ctas =
      params.num_tokens * num_packs(params, kHeads) * num_partitions(params.max_seq_len);
  if (num_ctas > 0) {
    with_head_capacity(params, [&]<int kHead>() {
      pagelab::launch(kName, ctas_for(num_ctas, 1), kDecodeThreads,
                      paged_decode_tensor_cores<Query, Stored, kHead>, params, kSharedBytes<kHead>);
    });
  }
  pagelab::launch(kName, ctas_for(params.num_tokens * params.num_query_heads, 1), kDecodeThreads,
                  paged_decode_reduce_base_2<Query, Stored>, params,
                  static_cast<std::size_t>(2 * whole_fours(num_partitions(params.max_seq_len))) *
                      sizeof(float));
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
