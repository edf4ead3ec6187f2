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
#include "gpu/kernels/paged_attention/cache_place.h"
#include "gpu/kernels/paged_attention/params.h"
#include "gpu/kernels/paged_attention/query_row.h"
#include "gpu/kernels/paged_attention/score.h"
#include "gpu/kernels/paged_decode/cta_reduce.h"
#include "gpu/kernels/paged_decode/partitions.h"
#include "gpu/kernels/paged_decode/reduce_partitions.cuh"
#include "reference/cache/cache_element.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

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
  static constexpr int kLanesPerHead = kLanesPerKey / kHeads;    ///< of those that share a key
  static constexpr int kElements = kElementsPer16Bytes<Stored>;  ///< of one copy
  static constexpr int kChunks = kDims / kElements;              ///< copies of a key a lane
  /// Units of 16 bytes of one warp's tile: keys, then values; of each round and chunk those of all lanes.
  static constexpr int kChunksPerTile = 2 * kRounds * kChunks * 32;

  static_assert(kChunks >= 1, "a lane has at least 16 bytes of a key");

  /// \param params    of the launch
  /// \param keys      those of the partition that it sees, counted from the partition's first
  /// \param places    [kPartitionLen] in shared memory: where each of them lies
  /// \param stages    [kDecodeWarps, kStages, kChunksPerTile] in shared memory
  /// \param warp_idx  of the thread block
  /// \param lane_idx  of the warp
  __device__ DecodePipeline(const PagedAttentionParams& params,
                            const KeyRange& keys,
                            const TokenPlace* places,
                            uint4* stages,
                            int warp_idx,
                            int lane_idx)
      : params_(params),
        end_key_(static_cast<int>(keys.end)),
        places_(places),
        stages_(stages + warp_idx * kStages * kChunksPerTile + lane_idx),
        key_in_round_(lane_idx / kLanesPerKey),
        rank_(lane_idx % kLanesPerKey) {
    // The warps' tiles are counted from the partition's first key, wherever the row begins to see.
    tile_key_ = warp_idx * kKeysPerTile;
    while (tile_key_ + kKeysPerTile <= keys.begin) tile_key_ += kKeysPerStep;
    copied_key_ = tile_key_;
  }

  /// Begins the copies of this warp's first tiles: those with a key that is seen.
  __device__ void begin() {
    for (int stage = 0; stage < kStages - 1; ++stage) copy_next();
  }

  /// Whether a tile is left for this warp.
  __device__ bool has_tile() const { return tile_key_ < end_key_; }
  /// The current tile's first key, counted from the partition's first.
  __device__ int first_key_of_tile() const { return tile_key_; }

  /// Waits for the current tile, and begins the copy of a later one in the place of the one before.
  __device__ __forceinline__ void wait_for_tile() {
    cp_async_wait<kStages - 2>();
    copy_next();
  }

  /// Goes on to the next tile.
  __device__ __forceinline__ void next_tile() {
    tile_key_ += kKeysPerStep;
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

  /// The head whose scores this lane has from multiply_keys.
  __device__ __forceinline__ int own_head() const { return rank_ / kLanesPerHead; }
  /// The key of the tile whose score own score n is.
  __device__ __forceinline__ int own_key(int n) const {
    const int round = kLanesPerHead == 1 ? n : rank_ % kLanesPerHead * kRounds / kLanesPerHead;
    return round * kKeysPerRound + key_in_round_;
  }
  /// Whether no lane before this one has the same scores.
  __device__ __forceinline__ bool is_first_with_own() const {
    return kLanesPerHead <= kRounds || rank_ % (kLanesPerHead / kRounds) == 0;
  }
  /// Lanes that share a head have neighbouring numbers: this is the first of them.
  __device__ __forceinline__ static int first_lane_of(int head) { return head * kLanesPerHead; }

  /// The products of the tile's keys with the queries of all heads, of which each lane has kScoresPerLane.
  /// \param query   this lane's elements
  /// \param scores  of own_head() and own_key(n)
  __device__ __forceinline__ void multiply_keys(const float (&query)[kHeads][kDims],
                                                float (&scores)[kScoresPerLane]) const {
    float parts[kHeads * kRounds] = {};  // those of a head next to each other
    PAGELAB_UNROLL
    for (int round = 0; round < kRounds; ++round) {
      PAGELAB_UNROLL
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        const uint4 bytes = *place_of_copy(stage_, kKeys, round, chunk);
        float key[kElements];
        unpack<Stored>(bytes, key);
        PAGELAB_UNROLL
        for (int i = 0; i < kElements; ++i) {
          PAGELAB_UNROLL
          for (int h = 0; h < kHeads; ++h) {
            float& sum = parts[h * kRounds + round];
            sum = fused_multiply_add(query[h][chunk * kElements + i], key[i], sum);
          }
        }
      }
    }
    // Eight lanes have a part of each sum: lanes 4, 2 and 1 apart are added. While a lane has several sums it keeps
    // one half of them and gives the other half away, so that a shuffle serves two.
    int num_sums = kHeads * kRounds;
    PAGELAB_UNROLL
    for (int distance = kLanesPerKey / 2; distance > 0; distance = distance / 2) {
      if (num_sums == 1) {
        parts[0] = parts[0] + __shfl_xor_sync(kWholeWarp, parts[0], distance);
        continue;
      }
      num_sums = num_sums / 2;
      const bool keeps_upper = (rank_ & distance) != 0;
      PAGELAB_UNROLL
      for (int i = 0; i < num_sums; ++i) {
        parts[i] = halved(parts[i], parts[i + num_sums], keeps_upper, distance);
      }
    }
    PAGELAB_UNROLL
    for (int n = 0; n < kScoresPerLane; ++n) scores[n] = parts[n];
  }

  /// The greatest of what the lanes of own_head() have, in each of them.
  /// \param part  this lane's; NaN never is the greatest
  __device__ __forceinline__ static float larger_of_head(float part) {
    if constexpr (kLanesPerHead > 1) part = larger(from_other_round(part), part);
    part = larger(__shfl_xor_sync(kWholeWarp, part, 16), part);
    return larger(__shfl_xor_sync(kWholeWarp, part, 8), part);
  }

  /// The sum of what the lanes of own_head() have, in each of them: keys 4 apart are added, then 2, then 1.
  /// \param part  this lane's
  __device__ __forceinline__ static float sum_of_head(float part) {
    if constexpr (kLanesPerHead > 1) part = part + from_other_round(part);
    part = part + __shfl_xor_sync(kWholeWarp, part, 16);
    return part + __shfl_xor_sync(kWholeWarp, part, 8);
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

  /// Adds up what the lanes of a round's four keys have, lanes 8 and then 16 apart, and writes the sums to rows in
  /// shared memory, [kHeads, kRowSize]. As in multiply_keys a lane keeps one half and gives the other away.
  /// \param acc   this lane's elements
  /// \param rows  where they go
  __device__ __forceinline__ void write_sums_of_keys(float (&acc)[kHeads][kDims],
                                                     float* rows) const {
    constexpr int kSums = kHeads * kDims;
    const auto sum = [&acc](int i) -> float& { return acc[i / kDims][i % kDims]; };
    const bool keeps_upper_half = key_in_round_ % 2 != 0;
    const bool keeps_upper_quarter = key_in_round_ / 2 != 0;
    PAGELAB_UNROLL
    for (int i = 0; i < kSums / 2; ++i) {
      sum(i) = halved(sum(i), sum(i + kSums / 2), keeps_upper_half, kLanesPerKey);
    }
    PAGELAB_UNROLL
    for (int i = 0; i < kSums / 4; ++i) {
      sum(i) = halved(sum(i), sum(i + kSums / 4), keeps_upper_quarter, 2 * kLanesPerKey);
    }
    const int first_own =
        (keeps_upper_half ? kSums / 2 : 0) + (keeps_upper_quarter ? kSums / 4 : 0);
    float* const own_row = rows + first_own / kDims * kRowSize;
    PAGELAB_UNROLL
    for (int i = 0; i < kSums / 4; ++i) {
      own_row[i / kDims * kRowSize + element_of(first_own % kDims + i % kDims)] = sum(i);
    }
  }

 private:
  static constexpr int kKeysPerStep = static_cast<int>(kDecodeWarps) * kKeysPerTile;  // all warps'
  static constexpr int kKeys = 0;
  static constexpr int kValues = 1;

  // Which element of a head the lane's element i is.
  __device__ __forceinline__ int element_of(int i) const {
    return (i / kElements * kLanesPerKey + rank_) * kElements + i % kElements;
  }

  // Of two sums the one that this lane keeps, with the part of it that the lane at a distance gives away.
  __device__ __forceinline__ static float halved(float lower,
                                                 float upper,
                                                 bool keeps_upper,
                                                 int distance) {
    const float kept = keeps_upper ? upper : lower;
    const float given = keeps_upper ? lower : upper;
    return kept + __shfl_xor_sync(kWholeWarp, given, distance);
  }

  // What the lane has that shares head and key with this one but for the round.
  __device__ __forceinline__ static float from_other_round(float part) {
    return __shfl_xor_sync(kWholeWarp, part, kLanesPerHead / kRounds);
  }

  // Where this lane's copy goes: next to those of the other lanes, so that no two use the same bank.
  __device__ __forceinline__ uint4* place_of_copy(int stage, int part, int round, int chunk) const {
    return stages_ + stage * kChunksPerTile + ((part * kRounds + round) * kChunks + chunk) * 32;
  }

  // Begins this lane's copies of the next tile that is not copied yet. A key that is not seen becomes
  // zeros, and its slot, which may hold anything, is not read.
  __device__ __forceinline__ void copy_next() {
    if (copied_key_ < end_key_) {
      PAGELAB_UNROLL
      for (int round = 0; round < kRounds; ++round) {
        const TokenPlace place = places_[copied_key_ + round * kKeysPerRound + key_in_round_];
        copy_row(params_.key_cache, place.key, params_.head_size, kKeys, round);
        copy_row(params_.value_cache, place.value, params_.head_size_v, kValues, round);
      }
    }
    cp_async_commit();  // also where there was nothing to copy: groups are counted
    copied_key_ += kKeysPerStep;
    copied_stage_ = copied_stage_ + 1 == kStages ? 0 : copied_stage_ + 1;
  }

  // Begins this lane's copies of one key or value; beyond the head it becomes zeros.
  __device__ __forceinline__ void copy_row(
      const void* cache, std::int64_t place, std::int64_t size, int part, int round) {
    // One address a row: its chunks are a constant apart. Where nothing is read, it may point anywhere.
    const Stored* const own_chunk = static_cast<const Stored*>(cache) + (place + rank_ * kElements);
    PAGELAB_UNROLL
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const bool is_inside =
          place >= 0 && (chunk * kLanesPerKey + rank_) * kElements < static_cast<int>(size);
      cp_async<16>(place_of_copy(copied_stage_, part, round, chunk),
                   own_chunk + chunk * kLanesPerKey * kElements, is_inside ? 16 : 0);
    }
  }

  const PagedAttentionParams& params_;
  const int end_key_;
  const TokenPlace* const places_;
  uint4* const stages_;
  const int key_in_round_;
  const int rank_;
  int tile_key_ = 0;
  int copied_key_ = 0;
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
  static constexpr int kNumWeights =
      static_cast<int>(kDecodeWarps) * Pipeline::kScoresPerTile;  ///< of all warps
  /// Bytes of all of it.
  static constexpr std::int64_t kBytes =
      kNumChunks * 16 + kPartitionLen * 16 + (kNumQueries + kNumWeights) * 4;
  /// Thread blocks of a multiprocessor (SM) that the compiler must leave registers for: as many as shared memory
  /// has room for (each takes 1 KiB more for itself), and three at most, for whom 168 registers a thread
  /// suffice. \source  CUDA C++ Programming Guide, "Compute Capability 9.0"
  static constexpr int kCtasThatFit = static_cast<int>(kHopperSharedBytes / (kBytes + 1024));
  static constexpr int kCtasPerSm = kCtasThatFit < 3 ? kCtasThatFit : 3;  ///< 1, 2 or 3

  /// \param bytes  the first of kBytes
  __device__ explicit DecodeShared(unsigned char* bytes)
      : stages(reinterpret_cast<uint4*>(bytes)),
        places(reinterpret_cast<TokenPlace*>(stages + kNumChunks)),
        queries(reinterpret_cast<float*>(places + kPartitionLen)),
        weights(queries + kNumQueries) {}

  uint4* stages;       ///< [kDecodeWarps, kStages, kChunksPerTile], at last those of MergedWarps
  TokenPlace* places;  ///< [kPartitionLen] of the partition's keys
  float* queries;      ///< [kHeads, kRowSize]
  float* weights;      ///< [kDecodeWarps, kKeysPerTile, kHeads] of a tile of each warp
};

/// The states of the four warps side by side in shared memory.
/// \tparam kHeads    of a pack
/// \tparam kRowSize  elements of a head
template <int kHeads, int kRowSize>
class MergedWarps {
 public:
  /// \param memory  room for kDecodeWarps · kHeads · (kRowSize + 3) floats
  __device__ explicit MergedWarps(uint4* memory)
      : outputs_(reinterpret_cast<float*>(memory)),
        maxima_(outputs_ + kDecodeWarps * kHeads * kRowSize),
        sums_(maxima_ + kDecodeWarps * kHeads),
        weights_(sums_ + kDecodeWarps * kHeads) {}

  /// A warp's maximum and sum of one head.
  __device__ void set_state(int warp_idx, int h, float m, float l) const {
    maxima_[warp_idx * kHeads + h] = m;
    sums_[warp_idx * kHeads + h] = l;
  }
  /// A warp's unnormalised outputs, [kHeads, kRowSize].
  __device__ float* outputs(int warp_idx) const { return outputs_ + warp_idx * kHeads * kRowSize; }

  /// The largest maximum of head h.
  __device__ float maximum(int h) const {
    float m = maxima_[h];
    for (int warp_idx = 1; warp_idx < static_cast<int>(kDecodeWarps); ++warp_idx) {
      m = larger(maxima_[warp_idx * kHeads + h], m);
    }
    return m;
  }
  /// Says how much each warp's part of head h weighs. Before sum and output; one thread a head.
  __device__ void weigh(int h) const {
    const float base = base_of(maximum(h));
    for (int warp_idx = 0; warp_idx < static_cast<int>(kDecodeWarps); ++warp_idx) {
      const int entry = warp_idx * kHeads + h;
      weights_[entry] = softmax_weight(maxima_[entry], base);
    }
  }
  /// The sum of head h, of all warps.
  __device__ float sum(int h) const { return weighted(h, sums_ + h, kHeads); }
  /// Element d of head h, of all warps, unnormalised.
  __device__ float output(int h, int d) const {
    return weighted(h, outputs_ + h * kRowSize + d, kHeads * kRowSize);
  }

 private:
  // What the warps have of head h, at a distance from each other, in increasing order.
  __device__ float weighted(int h, const float* parts, int distance) const {
    float all = 0.0f;
    for (int warp_idx = 0; warp_idx < static_cast<int>(kDecodeWarps); ++warp_idx) {
      all = fused_multiply_add(weights_[warp_idx * kHeads + h], parts[warp_idx * distance], all);
    }
    return all;
  }

  float* outputs_;
  float* maxima_;
  float* sums_;
  float* weights_;
};

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
