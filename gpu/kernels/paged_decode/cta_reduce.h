/// \file
/// Sums and maxima over the threads of a thread block, in an order that is fixed: what rungs 3 to 5 have
/// in common.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/kernels/launch_checks.h"
#include "gpu/kernels/paged_attention/score.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// Threads of a thread block in rungs 3 to 7.
inline constexpr unsigned int kDecodeThreads = 128;
/// Warps of a thread block in rungs 3 to 7.
inline constexpr unsigned int kDecodeWarps = kDecodeThreads / kWarpSize;

/// The sum over all lanes, in every lane: after each step twice as many lanes are in. At distance d =
/// 16, 8, 4, 2, 1 each lane adds the part of lane i xor d to its own.
/// \param part  this lane's
__device__ inline float butterfly_sum(float part) {
  for (unsigned int distance = kWarpSize / 2; distance > 0; distance = distance / 2) {
    const float other_part = __shfl_xor_sync(kWholeWarp, part, distance);
    part = part + other_part;
  }
  return part;
}

/// The greatest over all lanes, in every lane. NaN never is.
/// \param part  this lane's
__device__ inline float butterfly_larger(float part) {
  for (unsigned int distance = kWarpSize / 2; distance > 0; distance = distance / 2) {
    const float other_part = __shfl_xor_sync(kWholeWarp, part, distance);
    part = larger(other_part, part);
  }
  return part;
}

/// The sum over all threads, in every thread: a butterfly in each warp, then a chain over the warps.
/// All threads call it.
/// \param part        this thread's
/// \param warp_parts  [kDecodeWarps] in shared memory
__device__ inline float cta_sum(float part, float* warp_parts) {
  const unsigned int warp_idx = threadIdx.x / kWarpSize;
  part = butterfly_sum(part);
  if (threadIdx.x % kWarpSize == 0) warp_parts[warp_idx] = part;
  __syncthreads();
  float sum = warp_parts[0];
  for (unsigned int other = 1; other < kDecodeWarps; ++other) sum = sum + warp_parts[other];
  __syncthreads();  // before the next call writes them again
  return sum;
}

/// The greatest over all threads, in every thread; NaN never is. All threads call it.
/// \param part        this thread's
/// \param warp_parts  [kDecodeWarps] in shared memory
__device__ inline float cta_larger(float part, float* warp_parts) {
  const unsigned int warp_idx = threadIdx.x / kWarpSize;
  part = butterfly_larger(part);
  if (threadIdx.x % kWarpSize == 0) warp_parts[warp_idx] = part;
  __syncthreads();
  float m = warp_parts[0];
  for (unsigned int other = 1; other < kDecodeWarps; ++other) m = larger(warp_parts[other], m);
  __syncthreads();  // before the next call writes them again
  return m;
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
