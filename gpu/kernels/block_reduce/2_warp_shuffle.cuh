// block_reduce, rung 2: shuffles within each warp.
//
// Problem  total = Σ values[i], in float. Thread blocks cannot wait for each other, so one launch
//          leaves a sum for each of them, and a second launch of one thread block adds those up.
// Shapes   values [count] → partial_sums [thread blocks] → total [1]
// Mapping  with G threads in the whole grid, thread g adds up values g, g + G, g + 2G, …; then each
//          warp halves its lanes by handing sums from register to register, and the first warp does
//          the same with the sums of the warps. 96 threads:
//
//            warp 0: lanes 0 … 31 ─┐
//            warp 1: lanes 0 … 31 ─┼─ warp_sums[0 1 2] ─ warp 0: lanes 0 1 2 ─ sum of the thread block
//            warp 2: lanes 0 … 31 ─┘
//
// Cost     4 · count bytes read, once; memory limits it. One barrier instead of
//          log2(threads_per_cta) + 1, and one word of shared memory a warp instead of one a thread.
// Change   rung 1 went through shared memory at every level of the tree, with a barrier after each;
//          the lanes of a warp run together, so within a warp neither is needed. No faster on an H200:
//          with 2^28 values both rungs read memory as fast as a copy does (99 %), which is all there is.
// Order    thread g's values in a chain from +0; then in each warp at distances d = 16, 8, 4, 2, 1
//          sum[lane] = sum[lane] + sum[lane + d]; then the same over the warps' sums, with +0 where
//          there is no warp. Another order than rung 1's: the last bits may differ.
// Expects  values on the device; thread blocks of whole warps.
// Words    a warp is 32 threads that the hardware runs together, its lanes. __shfl_down_sync(mask,
//          x, d) hands each lane the x of the lane d further on; all lanes of the mask must call it.
//          A lane that has none d further on gets its own x back.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/kernels/block_reduce/params.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

// The sum of all lanes, in lane 0; the other lanes return parts of it.
__device__ inline float sum_of_warp(float sum) {
  for (unsigned int distance = kWarpSize / 2; distance > 0; distance = distance / 2) {
    const float taken_over = __shfl_down_sync(kWholeWarp, sum, distance);
    sum = sum + taken_over;
  }
  return sum;
}

__global__ void block_reduce_warp_shuffle(CtaSumsParams params) {
  __shared__ float warp_sums[kMaxThreadsPerCta / kWarpSize];
  const unsigned int thread_idx = threadIdx.x;
  const unsigned int warp_idx = thread_idx / kWarpSize;
  const unsigned int lane_idx = thread_idx % kWarpSize;

  // Step 1: each thread adds up its own values
  const std::int64_t num_threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first_idx = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + thread_idx;
  float sum = 0.0f;
  for (std::int64_t value_idx = first_idx; value_idx < params.count; value_idx += num_threads) {
    const float value = params.values[value_idx];
    sum = sum + value;
  }

  // Step 2: the tree
  // First in each warp, then over the warps.
  sum = sum_of_warp(sum);
  if (lane_idx == 0) warp_sums[warp_idx] = sum;
  __syncthreads();
  const unsigned int num_warps = blockDim.x / kWarpSize;
  if (warp_idx == 0) {  // all lanes of the first warp, so that they can shuffle
    const float sum_of_one_warp = lane_idx < num_warps ? warp_sums[lane_idx] : 0.0f;
    sum = sum_of_warp(sum_of_one_warp);
  }

  // Step 3: one thread stores the sum of the thread block
  if (thread_idx == 0) params.sums[blockIdx.x] = sum;
}

// Adds up all values: first a sum for each thread block, then the sum of these.
inline void launch_block_reduce_warp_shuffle(const BlockReduceParams& params) {
  const char* const name = "block_reduce/2_warp_shuffle";
  const unsigned int num_ctas = num_partial_sums(name, params);
  const CtaSumsParams first_launch = {params.values, params.count, params.partial_sums};
  launch(name, num_ctas, params.threads_per_cta, block_reduce_warp_shuffle, first_launch);
  const CtaSumsParams second_launch = {params.partial_sums, num_ctas, params.total};
  launch(name, 1, params.threads_per_cta, block_reduce_warp_shuffle, second_launch);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
