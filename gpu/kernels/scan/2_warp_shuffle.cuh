// scan, rung 2: shuffles within each warp.
//
// Problem  sums[i] = values[0] + … + values[i], the inclusive prefix sum.
// Shapes   values [count], sums [count], cta_totals [num_scan_totals(count)]
// Mapping  thread i → sums[i]; a thread block scans as many values as it has threads (any_length.cuh
//          puts them together). Each warp scans its 32 values as rung 1 does, but in registers; the
//          first warp scans the totals of the warps; each warp adds the total of those before it:
//
//            warp          0                 1                 2
//            its scan      a0 … a31          b0 … b31          c0 … c31
//            warp_totals   a31               a31+b31           a31+b31+c31     scanned by warp 0
//            result        a0 … a31          a31+b0 …          (a31+b31)+c0 …
//
// Cost     two barriers instead of log2(threads_per_cta) + 1, and a word of shared memory a warp.
//          8 · count bytes in this launch, which limit it.
// Change   rung 1 sent every sum of every round through shared memory; here they go from register to
//          register, and no second buffer is needed: a lane reads another's old sum before any lane
//          has a new one. On an H200, 2^27 floats take 953 µs instead of 1,211.
// Order    in a warp sum[lane] = sum[lane − d] + sum[lane] for d = 1, 2, 4, 8, 16 where lane ≥ d; the
//          same over the warps' totals; then the total before a warp + the sum in it. Another order
//          than rung 1's: the last bits of a float may differ.
// Expects  values on the device; thread blocks of whole warps.
// Words    __shfl_up_sync(mask, x, d) hands each lane the x of the lane d before it; all lanes of the
//          mask must call it. A lane that has none d before it gets its own x back.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/kernels/scan/any_length.cuh"
#include "gpu/kernels/scan/params.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

// Each lane's sum of itself and the lanes before it.
template <typename Element>
__device__ Element scan_of_warp(Element sum, unsigned int lane_idx) {
  for (unsigned int distance = 1; distance < kWarpSize; distance = 2 * distance) {
    const Element sum_before = __shfl_up_sync(kWholeWarp, sum, distance);
    if (lane_idx >= distance) sum = sum_before + sum;
  }
  return sum;
}

template <typename Element>
__global__ void scan_warp_shuffle(ScanParams<Element> params) {
  __shared__ Element warp_totals[kMaxThreadsPerCta / kWarpSize];
  const unsigned int thread_idx = threadIdx.x;
  const unsigned int warp_idx = thread_idx / kWarpSize;
  const unsigned int lane_idx = thread_idx % kWarpSize;

  // Step 1: load
  // Places past the end count as 0.
  const std::int64_t idx = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + thread_idx;
  const Element value = idx < params.count ? params.values[idx] : Element{0};

  // Step 2: scan
  // First each warp, then the totals of the warps.
  Element sum = scan_of_warp(value, lane_idx);
  if (lane_idx == kWarpSize - 1) warp_totals[warp_idx] = sum;
  __syncthreads();
  const unsigned int num_warps = blockDim.x / kWarpSize;
  if (warp_idx == 0) {  // all lanes of the first warp, so that they can shuffle
    const Element warp_total = lane_idx < num_warps ? warp_totals[lane_idx] : Element{0};
    const Element total_so_far = scan_of_warp(warp_total, lane_idx);
    if (lane_idx < num_warps) warp_totals[lane_idx] = total_so_far;
  }
  __syncthreads();
  if (warp_idx > 0) {
    const Element total_before = warp_totals[warp_idx - 1];
    sum = total_before + sum;
  }

  // Step 3: store
  // The last thread stores the total as well, if there are more thread blocks.
  if (idx < params.count) params.sums[idx] = sum;
  if (thread_idx == blockDim.x - 1 && gridDim.x > 1) params.cta_totals[blockIdx.x] = sum;
}

// Scans values of any count.
template <typename Element>
void launch_scan_warp_shuffle(const ScanParams<Element>& params) {
  require_scan("scan/2_warp_shuffle", params);
  launch_scan("scan/2_warp_shuffle", scan_warp_shuffle<Element>, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
