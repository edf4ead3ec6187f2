// histogram, rung 1: atomic additions in global memory.
//
// Problem  counts[v] = how many of the values are v.
// Shapes   values [count] bytes, counts [256]
// Mapping  with G threads in the whole grid, thread g counts values g, g + G, g + 2G, …
//
//            values   7  7  2  7 …        threads 0, 1 and 3 add 1 to counts[7], one after the other
//            thread   0  1  2  3
//
// Cost     count bytes read, and one atomic addition a value, all on the same 1 KiB: threads that
//          count the same value queue up for it. The fewer different values, the slower.
// Order    none is promised, and none matters: integer sums have the same bits in any order.
// Expects  zeros in counts, or counts of earlier values to add to.
// Words    atomicAdd(&x, 1) adds 1 to x so that no addition of another thread gets lost, and returns
//          what x was before. `x = x + 1` would lose some: two threads may read the same old x.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/kernels/histogram/params.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

__global__ void histogram_global_atomics(HistogramParams params) {
  const std::int64_t num_threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first_idx = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;

  // Step 1: count
  for (std::int64_t value_idx = first_idx; value_idx < params.count; value_idx += num_threads) {
    const unsigned int value = params.values[value_idx];
    atomicAdd(&params.counts[value], 1u);
  }

  // Step 2: nothing here, step 1 counts in the common histogram
}

// Counts all values.
inline void launch_histogram_global_atomics(const HistogramParams& params) {
  const char* const name = "histogram/1_global_atomics";
  const unsigned int num_ctas = num_histogram_ctas(name, params);
  if (num_ctas == 0) return;
  launch(name, num_ctas, params.threads_per_cta, histogram_global_atomics, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
