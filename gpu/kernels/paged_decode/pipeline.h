/// \file
/// The parts that 6_pipelined.cuh is made of: where a warp's copies go, which lane has which elements, and
/// how the warps of a thread block merge. The algorithm itself is there.
#pragma once

#include <cstdint>

#include "gpu/device/cp_async.h"
#include "gpu/device/keywords.h"
#include "gpu/device/unpack.h"
#include "gpu/device/unroll.h"
#include "gpu/kernels/launch_checks.h"
#include "gpu/kernels/paged_attention/params.h"
#include "gpu/kernels/paged_attention/query_row.h"
#include "gpu/kernels/paged_attention/score.h"
#include "gpu/kernels/paged_decode/cta_reduce.h"
#include "gpu/kernels/paged_decode/partitions.h"
#include "gpu/kernels/paged_decode/reduce_partitions.cuh"
#include "reference/cache/cache_element.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// The greatest among the lanes whose number is the same modulo `heads`, in each of them.
/// \param heads  2, 4 or 8
/// \param part   this lane's; NaN never is the greatest
__device__ __forceinline__ float larger_of_every(int heads, float part) {
  for (int distance = 16; distance >= heads; distance = distance / 2) {
    const float other_part = __shfl_xor_sync(kWholeWarp, part, distance);
    part = larger(other_part, part);
  }
  return part;
}

/// The sum over the lanes whose number is the same modulo `heads`, in each of them: lanes 16 apart, then 8,
/// then fewer.
/// \param heads  2, 4 or 8
/// \param part   this lane's
__device__ __forceinline__ float sum_of_every(int heads, float part) {
  for (int distance = 16; distance >= heads; distance = distance / 2) {
    const float other_part = __shfl_xor_sync(kWholeWarp, part, distance);
    part = part + other_part;
  }
  return part;
}

/// A warp's tiles of keys and values on their way through shared memory. A lane copies what it will use
/// itself, so its own wait is all the waiting there is.
/// \tparam Stored  element type of the cache, of 4 bytes or fewer
/// \tparam kDims   elements of a head that a lane has: 8, 16 or 32
template <typename Stored, int kDims>
class DecodePipeline {
 public:
  static constexpr int kHeads = 64 / kDims;  ///< query heads of a pack
  static constexpr int kLanesPerKey = 8;     ///< lanes that share a key
  static constexpr int kRowSize =
      kLanesPerKey * kDims;                ///< elements of a head, with those beyond it
  static constexpr int kKeysPerRound = 4;  ///< keys that a warp multiplies at a time
  static constexpr int kRounds = 2;        ///< of a tile
  static constexpr int kKeysPerTile = kKeysPerRound * kRounds;  ///< keys of a tile
  static constexpr int kStages = 3;  ///< tiles in shared memory: one in use, two under way
  static constexpr int kScoresPerTile = kKeysPerTile * kHeads;  ///< keys and heads
  static constexpr int kScoresPerLane = kScoresPerTile > 32 ? kScoresPerTile / 32 : 1;  ///< of them
  static constexpr int kElements = kElementsPer16Bytes<Stored>;  ///< of one copy
  static constexpr int kChunks = kDims / kElements;              ///< copies of a key a lane
  /// Units of 16 bytes of one warp's tile: keys, then values; of each round and chunk those of all lanes.
  static constexpr int kChunksPerTile = 2 * kRounds * kChunks * 32;

  static_assert(kChunks >= 1, "a lane has at least 16 bytes of a key");

  /// \param params       of the launch
  /// \param row          whose keys
  /// \param visible      those of the partition that it sees
  /// \param first_block  logical block of the first of them
  /// \param blocks       physical blocks from that one on, in shared memory
  /// \param stages       [kDecodeWarps, kStages, kChunksPerTile] in shared memory
  /// \param warp_idx     of the thread block
  /// \param lane_idx     of the warp
  __device__ DecodePipeline(const PagedAttentionParams& params,
                            const QueryRow& row,
                            const KeyRange& visible,
                            std::int64_t first_block,
                            const std::int32_t* blocks,
                            uint4* stages,
                            int warp_idx,
                            int lane_idx)
      : params_(params),
        row_(row),
        begin_(static_cast<std::int32_t>(visible.begin)),
        end_(static_cast<std::int32_t>(visible.end)),
        first_block_(static_cast<std::int32_t>(first_block)),
        blocks_(blocks),
        stages_(stages + warp_idx * kStages * kChunksPerTile + lane_idx),
        warp_idx_(warp_idx),
        key_in_round_(lane_idx / kLanesPerKey),
        rank_(lane_idx % kLanesPerKey) {
    keys_ =
        static_cast<const Stored*>(params.key_cache) + row.kv_head_idx * params.key_strides.head;
    values_ = static_cast<const Stored*>(params.value_cache) +
              row.kv_head_idx * params.value_strides.head;
  }

  /// Whether the row sees a key of the partition.
  __device__ __forceinline__ bool is_seen(std::int64_t position) const {
    if (position < begin_ || position >= end_) return false;
    // Only prefix ranges leave a gap between the first and the last key that are seen.
    return params_.num_mm_prefix_ranges == 0 || sees(params_, row_, position);
  }

  /// Begins the copies of this warp's first tiles: those with a key that is seen. Tiles are counted from the
  /// partition's first key, wherever the row begins to see.
  /// \param first_position  of the partition
  __device__ void begin(std::int64_t first_position) {
    constexpr std::int32_t kStep = kDecodeWarps * kKeysPerTile;
    const std::int32_t first = static_cast<std::int32_t>(first_position) + warp_idx_ * kKeysPerTile;
    tile_position_ = first;
    while (tile_position_ + kKeysPerTile <= begin_) tile_position_ += kStep;
    copied_position_ = tile_position_;
    for (int stage = 0; stage < kStages - 1; ++stage) copy_next();
  }

  /// Whether a tile is left for this warp.
  __device__ bool has_tile() const { return tile_position_ < end_; }
  /// Position of the current tile's first key.
  __device__ std::int64_t first_position_of_tile() const { return tile_position_; }

  /// Waits for the current tile, and begins the copy of a later one in the place of the one before.
  __device__ __forceinline__ void wait_for_tile() {
    cp_async_wait<kStages - 2>();
    copy_next();
  }

  /// Goes on to the next tile.
  __device__ __forceinline__ void next_tile() {
    tile_position_ += static_cast<std::int32_t>(kDecodeWarps) * kKeysPerTile;
    stage_ = stage_ + 1 == kStages ? 0 : stage_ + 1;
  }

  /// Waits for all copies, so that the shared memory can be used for something else.
  __device__ void drain() { cp_async_wait<0>(); }

  /// The lane's elements of rows in shared memory, [kHeads, kRowSize].
  __device__ __forceinline__ void read_own_elements(const float* rows,
                                                    float (&own)[kHeads][kDims]) const {
    PAGELAB_UNROLL
    for (int h = 0; h < kHeads; ++h) {
      PAGELAB_UNROLL
      for (int i = 0; i < kDims; ++i) own[h][i] = rows[h * kRowSize + element_of(i)];
    }
  }

  /// The lanes of a round's first key write their elements to rows in shared memory, [kHeads, kRowSize].
  __device__ __forceinline__ void write_own_elements(const float (&own)[kHeads][kDims],
                                                     float* rows) const {
    if (key_in_round_ != 0) return;
    PAGELAB_UNROLL
    for (int h = 0; h < kHeads; ++h) {
      PAGELAB_UNROLL
      for (int i = 0; i < kDims; ++i) rows[h * kRowSize + element_of(i)] = own[h][i];
    }
  }

  /// The products of a key with all queries, in each of its eight lanes.
  /// \param round          which of the tile's keys
  /// \param query          this lane's elements
  /// \param query_dot_key  one a head
  __device__ __forceinline__ void multiply_key(int round,
                                               const float (&query)[kHeads][kDims],
                                               float (&query_dot_key)[kHeads]) const {
    PAGELAB_UNROLL
    for (int h = 0; h < kHeads; ++h) query_dot_key[h] = 0.0f;
    PAGELAB_UNROLL
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const uint4 bytes = *place_of_copy(stage_, kKeys, round, chunk);
      float key[kElements];
      unpack<Stored>(bytes, key);
      PAGELAB_UNROLL
      for (int i = 0; i < kElements; ++i) {
        PAGELAB_UNROLL
        for (int h = 0; h < kHeads; ++h) {
          query_dot_key[h] =
              fused_multiply_add(query[h][chunk * kElements + i], key[i], query_dot_key[h]);
        }
      }
    }
    PAGELAB_UNROLL
    for (int distance = kLanesPerKey / 2; distance > 0; distance = distance / 2) {
      PAGELAB_UNROLL
      for (int h = 0; h < kHeads; ++h) {
        const float other_part = __shfl_xor_sync(kWholeWarp, query_dot_key[h], distance);
        query_dot_key[h] = query_dot_key[h] + other_part;
      }
    }
  }

  /// Adds a value, weighted for each head, to this lane's elements.
  /// \param round  which of the tile's values
  /// \param p      weight of each head
  /// \param acc    this lane's elements
  __device__ __forceinline__ void add_value(int round,
                                            const float (&p)[kHeads],
                                            float (&acc)[kHeads][kDims]) const {
    PAGELAB_UNROLL
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const uint4 bytes = *place_of_copy(stage_, kValues, round, chunk);
      float value[kElements];
      unpack<Stored>(bytes, value);
      PAGELAB_UNROLL
      for (int i = 0; i < kElements; ++i) {
        PAGELAB_UNROLL
        for (int h = 0; h < kHeads; ++h) {
          float& sum = acc[h][chunk * kElements + i];
          sum = fused_multiply_add(p[h], value[i], sum);
        }
      }
    }
  }

  /// Adds up what the lanes of a round's four keys have, in all of them.
  __device__ __forceinline__ void add_keys_up(float (&acc)[kHeads][kDims]) const {
    PAGELAB_UNROLL
    for (int h = 0; h < kHeads; ++h) {
      PAGELAB_UNROLL
      for (int i = 0; i < kDims; ++i) {
        acc[h][i] = acc[h][i] + __shfl_xor_sync(kWholeWarp, acc[h][i], 8);
        acc[h][i] = acc[h][i] + __shfl_xor_sync(kWholeWarp, acc[h][i], 16);
      }
    }
  }

 private:
  static constexpr int kKeys = 0;
  static constexpr int kValues = 1;

  // Which element of a head the lane's element i is.
  __device__ __forceinline__ int element_of(int i) const {
    return (i / kElements * kLanesPerKey + rank_) * kElements + i % kElements;
  }

  // Where this lane's copy goes: next to those of the other lanes, so that no two use the same bank.
  __device__ __forceinline__ uint4* place_of_copy(int stage, int part, int round, int chunk) const {
    return stages_ + stage * kChunksPerTile + ((part * kRounds + round) * kChunks + chunk) * 32;
  }

  // Begins this lane's copies of the next tile that is not copied yet. A key that is not seen becomes
  // zeros, and its slot, which may hold anything, is not read.
  __device__ __forceinline__ void copy_next() {
    PAGELAB_UNROLL
    for (int round = 0; round < kRounds; ++round) {
      const std::int32_t position = copied_position_ + round * kKeysPerRound + key_in_round_;
      const bool seen = is_seen(position);
      std::int64_t key_offset = 0;
      std::int64_t value_offset = 0;
      if (seen) {
        const std::uint32_t block_size = static_cast<std::uint32_t>(params_.block_size);
        const std::uint32_t logical_block = static_cast<std::uint32_t>(position) / block_size;
        const std::int64_t block_offset =
            static_cast<std::uint32_t>(position) - logical_block * block_size;
        const std::int64_t physical_block =
            blocks_[static_cast<std::int32_t>(logical_block) - first_block_];
        key_offset =
            physical_block * params_.key_strides.block + block_offset * params_.key_strides.token;
        value_offset = physical_block * params_.value_strides.block +
                       block_offset * params_.value_strides.token;
      }
      copy_row(keys_, key_offset, params_.head_size, seen, kKeys, round);
      copy_row(values_, value_offset, params_.head_size_v, seen, kValues, round);
    }
    cp_async_commit();  // also where there was nothing to copy: groups are counted
    copied_position_ += static_cast<std::int32_t>(kDecodeWarps) * kKeysPerTile;
    copied_stage_ = copied_stage_ + 1 == kStages ? 0 : copied_stage_ + 1;
  }

  // Begins this lane's copies of one key or value; beyond the head it becomes zeros.
  __device__ __forceinline__ void copy_row(
      const Stored* first, std::int64_t offset, std::int64_t size, bool seen, int part, int round) {
    PAGELAB_UNROLL
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const int element = (chunk * kLanesPerKey + rank_) * kElements;
      const bool is_inside = seen && element < size;
      cp_async<16>(place_of_copy(copied_stage_, part, round, chunk),
                   first + (is_inside ? offset + element : 0), is_inside ? 16 : 0);
    }
  }

  const PagedAttentionParams& params_;
  const QueryRow row_;
  const std::int32_t begin_;
  const std::int32_t end_;
  const std::int32_t first_block_;
  const std::int32_t* const blocks_;
  uint4* const stages_;
  const int warp_idx_;
  const int key_in_round_;
  const int rank_;
  const Stored* keys_;
  const Stored* values_;
  std::int32_t tile_position_ = 0;
  std::int32_t copied_position_ = 0;
  int stage_ = 0;
  int copied_stage_ = 0;
};

/// The dynamic shared memory of 6_pipelined.cuh.
template <typename Stored, int kDims>
struct DecodeShared {
  using Pipeline = DecodePipeline<Stored, kDims>;  ///< whose stages are in it
  static constexpr int kNumChunks =
      static_cast<int>(kDecodeWarps) * Pipeline::kStages * Pipeline::kChunksPerTile;  ///< in stages
  static constexpr int kNumQueries = Pipeline::kHeads * Pipeline::kRowSize;           ///< elements
  static constexpr int kNumScores =
      static_cast<int>(kDecodeWarps) * Pipeline::kScoresPerTile;  ///< of all warps
  /// Bytes of all of it.
  static constexpr std::int64_t kBytes =
      kNumChunks * 16 + (kNumQueries + kNumScores + kPartitionLen) * 4;
  /// Thread blocks of a multiprocessor (SM) that the compiler must leave registers for: as many as shared memory
  /// has room for (each takes 1 KiB more for itself), and three at most, for whom 168 registers a thread
  /// suffice. \source  CUDA C++ Programming Guide, "Compute Capability 9.0"
  static constexpr int kCtasThatFit = static_cast<int>(kHopperSharedBytes / (kBytes + 1024));
  static constexpr int kCtasPerSm = kCtasThatFit < 3 ? kCtasThatFit : 3;  ///< 1, 2 or 3

  /// \param bytes  the first of kBytes
  __device__ explicit DecodeShared(unsigned char* bytes)
      : stages(reinterpret_cast<uint4*>(bytes)),
        queries(reinterpret_cast<float*>(stages + kNumChunks)),
        scores(queries + kNumQueries),
        blocks(reinterpret_cast<std::int32_t*>(scores + kNumScores)) {}

  uint4* stages;         ///< [kDecodeWarps, kStages, kChunksPerTile], at last those of MergedWarps
  float* queries;        ///< [kHeads, kRowSize]
  float* scores;         ///< [kDecodeWarps, kKeysPerTile, kHeads], then the weights
  std::int32_t* blocks;  ///< [kPartitionLen] physical blocks of the partition
};

/// What the warps of a thread block found together, for one element of the output.
struct MergedState {
  float m;    ///< maximum
  float l;    ///< sum
  float acc;  ///< unnormalised output
};

/// The states of the four warps side by side in shared memory.
/// \tparam kHeads    of a pack
/// \tparam kRowSize  elements of a head
template <int kHeads, int kRowSize>
class MergedWarps {
 public:
  /// \param memory  room for kDecodeWarps · kHeads · (kRowSize + 2) floats
  __device__ explicit MergedWarps(uint4* memory)
      : outputs_(reinterpret_cast<float*>(memory)),
        maxima_(outputs_ + kDecodeWarps * kHeads * kRowSize),
        sums_(maxima_ + kDecodeWarps * kHeads) {}

  /// A warp's maximum and sum of one head.
  __device__ void set_state(int warp_idx, int h, float m, float l) const {
    maxima_[warp_idx * kHeads + h] = m;
    sums_[warp_idx * kHeads + h] = l;
  }
  /// A warp's unnormalised outputs, [kHeads, kRowSize].
  __device__ float* outputs(int warp_idx) const { return outputs_ + warp_idx * kHeads * kRowSize; }

  /// Element d of head h, from all warps.
  __device__ MergedState merge(int h, int d) const {
    MergedState merged = {maxima_[h], 0.0f, 0.0f};
    for (int warp_idx = 1; warp_idx < static_cast<int>(kDecodeWarps); ++warp_idx) {
      merged.m = larger(maxima_[warp_idx * kHeads + h], merged.m);
    }
    const float base = base_of(merged.m);
    for (int warp_idx = 0; warp_idx < static_cast<int>(kDecodeWarps); ++warp_idx) {
      const float weight = softmax_weight(maxima_[warp_idx * kHeads + h], base);
      merged.l = fused_multiply_add(weight, sums_[warp_idx * kHeads + h], merged.l);
      merged.acc = fused_multiply_add(weight, outputs(warp_idx)[h * kRowSize + d], merged.acc);
    }
    return merged;
  }

 private:
  float* outputs_;
  float* maxima_;
  float* sums_;
};

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
