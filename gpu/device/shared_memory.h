/// \file
/// Dynamic shared memory: the part of a thread block's shared memory whose size the launch says.
/// Plain CUDA has no portable word for it (`extern __shared__` does not link as C++), so it is one here.
///
///     float* scores = dynamic_shared_memory<float>();   // launch(..., num_keys * sizeof(float))
#pragma once

#include "gpu/device/keywords.h"
#include "reference/numerics/target.h"

#if !defined(__CUDACC__)
#include "simulator/simt/running_lane.h"
#include "simulator/simt/thread_block.h"
#endif

namespace pagelab {
inline namespace PAGELAB_TARGET {

#if defined(__CUDACC__)

// On the GPU: the array that every kernel with dynamic shared memory declares.
extern __shared__ __align__(1024) unsigned char dynamic_shared_bytes[];

template <typename T>
__device__ T* dynamic_shared_memory() {
  return reinterpret_cast<T*>(dynamic_shared_bytes);
}

#else

/// The thread block's dynamic shared memory, the same for every T: its first byte, at a multiple of 1024.
/// Nothing is in it when the thread block begins.
/// \tparam T  what the kernel takes it for
template <typename T>
__device__ T* dynamic_shared_memory() {
  return reinterpret_cast<T*>(simt::running_thread_block->dynamic_shared());
}

#endif

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
