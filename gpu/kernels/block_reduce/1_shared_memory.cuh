// block_reduce, rung 1: a tree in shared memory.
//
// Problem  total = Σ values[i], in float. Thread blocks cannot wait for each other, so one launch
//          leaves a sum for each of them, and a second launch of one thread block adds those up.
// Shapes   values [count] → partial_sums [thread blocks] → total [1]
// Mapping  with G threads in the whole grid, thread g adds up values g, g + G, g + 2G, …; then the
//          threads of a thread block halve their number until one is left. Eight threads:
//
//            thread       0    1    2    3    4    5    6    7
//            distance 4   0+4  1+5  2+6  3+7   -    -    -    -
//            distance 2   04+26  15+37   -     -    -    -    -
//            distance 1   all    -       -     -    -    -    -
//
// Cost     4 · count bytes read, once; neighbours read neighbours, so the memory is all that limits
//          it. log2(threads_per_cta) + 1 barriers; half of the threads idle, then three quarters, …
// Order    thread g's values in a chain from +0; then at each distance d = …, 4, 2, 1 (the largest
//          power of two below the number of threads, halved) sum[t] = sum[t] + sum[t + d] where both
//          exist. It depends on count and threads_per_cta alone, so the bits are the same on every
//          machine. atomicAdd on one float would need no tree, but its order is another each time.
// Expects  values on the device; thread blocks of whole warps.
// Words    __shared__ is memory that the threads of one thread block share, on the chip. It holds
//          rubbish at first. __syncthreads() is a barrier: nobody goes on before all threads of the
//          thread block have come, and then all see what the others wrote before it.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/kernels/block_reduce/params.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

__global__ void block_reduce_shared_memory(CtaSumsParams params) {
  __shared__ float sums[kMaxThreadsPerCta];  // sums[t]: of thread t and those it has taken over
  const unsigned int thread_idx = threadIdx.x;

  // Step 1: each thread adds up its own values
  const std::int64_t num_threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first_idx = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + thread_idx;
  float sum = 0.0f;
  for (std::int64_t value_idx = first_idx; value_idx < params.count; value_idx += num_threads) {
    const float value = params.values[value_idx];
    sum = sum + value;
  }

  // Step 2: the tree
  // The barrier is outside the `if`, because all threads must come to it.
  sums[thread_idx] = sum;
  __syncthreads();
  unsigned int distance = 1;
  while (2 * distance < blockDim.x) distance = 2 * distance;
  for (; distance > 0; distance = distance / 2) {
    const unsigned int partner_idx = thread_idx + distance;
    if (thread_idx < distance && partner_idx < blockDim.x) {
      const float taken_over = sums[partner_idx];
      sums[thread_idx] = sums[thread_idx] + taken_over;
    }
    __syncthreads();
  }

  // Step 3: one thread stores the sum of the thread block
  if (thread_idx == 0) params.sums[blockIdx.x] = sums[0];
}

// Adds up all values: first a sum for each thread block, then the sum of these.
inline void launch_block_reduce_shared_memory(const BlockReduceParams& params) {
  const char* const name = "block_reduce/1_shared_memory";
  const unsigned int num_ctas = num_partial_sums(name, params);
  const CtaSumsParams first_launch = {params.values, params.count, params.partial_sums};
  launch(name, num_ctas, params.threads_per_cta, block_reduce_shared_memory, first_launch);
  const CtaSumsParams second_launch = {params.partial_sums, num_ctas, params.total};
  launch(name, 1, params.threads_per_cta, block_reduce_shared_memory, second_launch);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
