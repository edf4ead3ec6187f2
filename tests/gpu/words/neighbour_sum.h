/// \file
/// S3: a device function in a file of its own, with shared memory and barriers of its own.
#pragma once

#include "tests/gpu/words/word_threads.h"

namespace pagelab::test {
inline namespace PAGELAB_TARGET {

/// This thread's value and that of the next one, round to the first. Every thread of the block calls it.
__device__ inline unsigned int neighbour_sum(unsigned int value) {
  __shared__ unsigned int values[1024];
  values[thread_in_cta()] = value;
  __syncthreads();
  const unsigned int next = (thread_in_cta() + 1) % threads_per_cta();
  const unsigned int sum = value + values[next];
  __syncthreads();
  return sum;
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::test
