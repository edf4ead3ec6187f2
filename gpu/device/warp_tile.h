/// \file
/// A tile: 1, 2, 4, 8, 16 or 32 neighbouring lanes of a warp that work on something of their own. What
/// cooperative groups call `tiled_partition<kSize>(block)`, in plain words with a mask, so that it is
/// the same on a GPU and in the simulator.
///
///     const WarpTile<8> tile = tiled_partition<8>();
///     float sum = tile.reduce_add(partial);            // of 8 lanes; every lane has it
///     if (tile.thread_rank() == 0) sums[row] = sum;
///
///     lane           0 1 2 3 4 5 6 7 | 8 9 …
///     tile of 4      0 0 0 0 1 1 1 1 | 2 2 …   meta_group_rank
///     thread_rank    0 1 2 3 0 1 2 3 | 0 1 …
///
/// All lanes of a tile call each word together; other tiles of the warp may be elsewhere. The thread
/// block must have a multiple of kSize threads.
///
/// Source: CUDA C++ Programming Guide, "Cooperative Groups", "Thread Block Tile".
/// Differs: cooperative groups order no sum of floats; here it is that of reduce().
#pragma once

#include "gpu/device/keywords.h"
#include "reference/numerics/target.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// The calling lane's tile.
/// \tparam kSize  lanes of a tile: 1, 2, 4, 8, 16 or 32
template <unsigned int kSize>
class WarpTile {
  static_assert(kSize >= 1 && kSize <= 32 && (kSize & (kSize - 1)) == 0,
                "a tile has 1, 2, 4, 8, 16 or 32 lanes");

 public:
  /// \param lane  of the caller in its warp
  __device__ explicit WarpTile(unsigned int lane)
      : rank_(lane % kSize), first_lane_(lane - lane % kSize) {}

  /// Lanes of a tile.
  __device__ static constexpr unsigned int size() { return kSize; }
  /// The caller's place in the tile, from 0.
  __device__ unsigned int thread_rank() const { return rank_; }
  /// The tile's place in its warp, from 0. Cooperative groups count through the thread block.
  __device__ unsigned int rank_in_warp() const { return first_lane_ / kSize; }
  /// The tile's lanes, as the words of a warp name them.
  __device__ unsigned int mask() const { return kAllRanks << first_lane_; }

  /// The tile's lanes wait for each other, and see what the others wrote before.
  __device__ __forceinline__ void sync() const { __syncwarp(mask()); }

  /// The value of the lane of rank `rank` modulo the tile's size.
  template <typename T>
  __device__ __forceinline__ T shfl(T value, int rank) const {
    return __shfl_sync(mask(), value, rank, kSize);
  }
  /// The value of the lane `distance` ranks below; the caller's own if there is none.
  template <typename T>
  __device__ __forceinline__ T shfl_up(T value, unsigned int distance) const {
    return __shfl_up_sync(mask(), value, distance, kSize);
  }
  /// The value of the lane `distance` ranks above; the caller's own if there is none.
  template <typename T>
  __device__ __forceinline__ T shfl_down(T value, unsigned int distance) const {
    return __shfl_down_sync(mask(), value, distance, kSize);
  }
  /// The value of the lane whose rank differs in these bits.
  /// \param value  the caller's
  /// \param bits   less than the tile's size
  template <typename T>
  __device__ __forceinline__ T shfl_xor(T value, unsigned int bits) const {
    return __shfl_xor_sync(mask(), value, static_cast<int>(bits), kSize);
  }

  /// Whether the predicate is true for a lane of the tile.
  __device__ __forceinline__ bool any(bool predicate) const {
    return __any_sync(mask(), predicate ? 1 : 0) != 0;
  }
  /// Whether the predicate is true for all lanes of the tile.
  __device__ __forceinline__ bool all(bool predicate) const {
    return __all_sync(mask(), predicate ? 1 : 0) != 0;
  }
  /// Bit r is set where the predicate is true for the lane of rank r.
  __device__ __forceinline__ unsigned int ballot(bool predicate) const {
    return __ballot_sync(mask(), predicate ? 1 : 0) >> first_lane_;
  }
  /// Bit r is set where the lane of rank r has the same bits as the caller.
  template <typename T>
  __device__ __forceinline__ unsigned int match_any(T value) const {
    return __match_any_sync(mask(), value) >> first_lane_;
  }

  /// One value from those of all lanes; every lane has it, with the same bits. Neighbours are combined
  /// first, then pairs of neighbours, and so on: ((0,1),(2,3)),((4,5),(6,7)).
  /// \param value    the caller's
  /// \param combine  of two values, called as combine(T, T); which is first must not matter
  template <typename T, typename Combine>
  __device__ __forceinline__ T reduce(T value, Combine combine) const {
    T result = value;
    for (unsigned int distance = 1; distance < kSize; distance *= 2) {
      const T other = shfl_xor(result, distance);
      result = combine(result, other);
    }
    return result;
  }
  /// The sum.
  template <typename T>
  __device__ __forceinline__ T reduce_add(T value) const {
    return reduce(value, [](T a, T b) { return a + b; });
  }
  /// The smallest.
  template <typename T>
  __device__ __forceinline__ T reduce_min(T value) const {
    return reduce(value, [](T a, T b) { return b < a ? b : a; });
  }
  /// The largest.
  template <typename T>
  __device__ __forceinline__ T reduce_max(T value) const {
    return reduce(value, [](T a, T b) { return a < b ? b : a; });
  }

 private:
  static constexpr unsigned int kAllRanks = kSize == 32 ? 0xffffffffu : (1u << kSize % 32) - 1;

  unsigned int rank_;        // in the tile
  unsigned int first_lane_;  // of the tile in the warp
};

/// The calling thread's tile of the thread block, whose threads are counted x first, then y, then z.
template <unsigned int kSize>
__device__ __forceinline__ WarpTile<kSize> tiled_partition() {
  const unsigned int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  return WarpTile<kSize>(thread % 32);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
