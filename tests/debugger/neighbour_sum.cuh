// neighbour_sum: each thread adds its value to that of the next thread of its thread block.
// Problem  sums[i] = values[i] + values[i's right neighbour], the last thread's neighbour being the first
// Shapes   values, sums [num_values]
// Mapping  thread block b → values 40·b to 40·b + 39; thread t → one of them
// Cost     one value read and one sum written a thread, one barrier
// A small kernel, and a wrong one behind it, to be stepped through: tests/debugger stops in it, and
// docs/debugger shows what it sees. Its thread block of 40 has a full warp and a partial one, and keeps
// its values in static shared memory as a table and in dynamic shared memory doubled.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/shared_memory.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

struct NeighbourSumParams {
  const float* values;  // [num_values]
  float* sums;          // [num_values]
  unsigned int num_values;
};

constexpr unsigned int kThreadsPerCta = 40;
constexpr unsigned int kColumns = 10;

__device__ inline float doubled(float value) {
  const float twice = 2 * value;
  return twice;
}

__global__ inline void neighbour_sum(NeighbourSumParams params) {
  __shared__ float table[kThreadsPerCta / kColumns][kColumns];
  float* const doubles = dynamic_shared_memory<float>();  // [kThreadsPerCta]

  // Step 1: every thread lays down its value.
  const unsigned int thread = threadIdx.x;
  const unsigned int value_idx = blockIdx.x * kThreadsPerCta + thread;
  const float mine = value_idx < params.num_values ? params.values[value_idx] : 0.0f;
  table[thread / kColumns][thread % kColumns] = mine;
  doubles[thread] = doubled(mine);
  __syncthreads();

  // Step 2: it takes its neighbour's.
  const unsigned int next = (thread + 1) % kThreadsPerCta;
  const float neighbour = table[next / kColumns][next % kColumns];
  const float sum = mine + neighbour;
  if (value_idx < params.num_values) {
    params.sums[value_idx] = sum;
  }
}

// Its barrier is not reached by all threads: the launch fails.
__global__ inline void half_barrier(NeighbourSumParams params) {
  const unsigned int thread = threadIdx.x;
  if (thread < 30) {
    __syncthreads();
    params.sums[thread] = 0.0f;
  }
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
