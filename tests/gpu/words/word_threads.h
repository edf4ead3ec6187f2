/// \file
/// Which thread this is, for the kernels of word_kernels.h, and how they are launched.
#pragma once

#include <cstdint>

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "tests/gpu/words/word_kernels.h"

namespace pagelab::test {
inline namespace PAGELAB_TARGET {

/// Threads of the thread block.
__device__ __forceinline__ unsigned int threads_per_cta() {
  return blockDim.x * blockDim.y * blockDim.z;
}

/// Index of this thread in its thread block, x fastest.
__device__ __forceinline__ unsigned int thread_in_cta() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

/// Index of this thread in the grid.
__device__ __forceinline__ unsigned int thread_in_grid() {
  const unsigned int cta_idx = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  return cta_idx * threads_per_cta() + thread_in_cta();
}

/// Where this thread writes what a word returned.
__device__ __forceinline__ std::uint64_t* results_of_thread(const WordParams& params) {
  return params.results + static_cast<std::uint64_t>(thread_in_grid()) * params.results_per_thread;
}

/// 32 random bits of this thread's.
__device__ __forceinline__ unsigned int drawn_word(const WordParams& params, int index) {
  return static_cast<unsigned int>(drawn(params.seed, thread_in_grid(), index));
}

/// The bits of a number, in 64.
template <typename Number>
__device__ __forceinline__ std::uint64_t result_bits(Number number) {
  union {
    std::uint64_t bits;
    Number number;
  } both;
  both.bits = 0;
  both.number = number;
  return both.bits;
}

/// The number whose bits are the lowest of these.
template <typename Number>
__device__ __forceinline__ Number number_of_bits(std::uint64_t bits) {
  union {
    std::uint64_t bits;
    Number number;
  } both;
  both.bits = bits;
  return both.number;
}

/// Launches one of the kernels.
template <void (*kKernel)(WordParams)>
void launch_word(const char* name, const WordLaunch& on, const WordParams& params) {
  launch(name, dim3(on.grid.x, on.grid.y, on.grid.z), dim3(on.cta.x, on.cta.y, on.cta.z), kKernel,
         params, on.shared_bytes);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::test
