// scan, rung 1: Hillis and Steele's scan with two buffers in shared memory.
//
// Problem  sums[i] = values[0] + … + values[i], the inclusive prefix sum.
// Shapes   values [count], sums [count], cta_totals [num_scan_totals(count)]
// Mapping  thread i → sums[i]; a thread block scans as many values as it has threads (any_length.cuh
//          puts them together). At distance 1, 2, 4, … each sum takes in the one that far before it,
//          and so reaches twice as far back:
//
//            values      3   1   4   1   5   9
//            distance 1  3   4   5   5   6  14        each with its neighbour
//            distance 2  3   4   8   9  11  19        2 and 3 places back are in now
//            distance 4  3   4   8   9  14  23
//
// Cost     log2(threads_per_cta) rounds with a barrier each and an addition a thread: more additions
//          than a loop makes, but all of a round at once. 8 · count bytes in this launch.
// Order    to[t] = from[t − d] + from[t] for d = 1, 2, 4, … where t ≥ d; the bits of a float sum
//          depend on its place and on threads_per_cta alone.
// Expects  values on the device; thread blocks of whole warps.
// Words    __shared__ and __syncthreads(): block_reduce/1_shared_memory.cuh. Two buffers, because a
//          thread that wrote its sum where it read it would race with the neighbour that still has
//          to read the old one.
// Source: Hillis and Steele (1986), "Data parallel algorithms".
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/kernels/scan/any_length.cuh"
#include "gpu/kernels/scan/params.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

template <typename Element>
__global__ void scan_hillis_steele(ScanParams<Element> params) {
  __shared__ Element buffers[2][kMaxThreadsPerCta];
  const unsigned int thread_idx = threadIdx.x;

  // Step 1: load
  // Places past the end count as 0.
  const std::int64_t idx = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + thread_idx;
  const Element value = idx < params.count ? params.values[idx] : Element{0};

  // Step 2: scan
  // A round reads one buffer and writes the other; the next one swaps them.
  unsigned int from = 0;
  buffers[from][thread_idx] = value;
  __syncthreads();
  for (unsigned int distance = 1; distance < blockDim.x; distance = 2 * distance) {
    const unsigned int to = 1 - from;
    Element sum = buffers[from][thread_idx];
    if (thread_idx >= distance) {
      const Element sum_before = buffers[from][thread_idx - distance];
      sum = sum_before + sum;
    }
    buffers[to][thread_idx] = sum;
    __syncthreads();
    from = to;
  }
  const Element sum = buffers[from][thread_idx];

  // Step 3: store
  // The last thread stores the total as well, if there are more thread blocks.
  if (idx < params.count) params.sums[idx] = sum;
  if (thread_idx == blockDim.x - 1 && gridDim.x > 1) params.cta_totals[blockIdx.x] = sum;
}

// Scans values of any count.
template <typename Element>
void launch_scan_hillis_steele(const ScanParams<Element>& params) {
  require_scan("scan/1_hillis_steele", params);
  launch_scan("scan/1_hillis_steele", scan_hillis_steele<Element>, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
