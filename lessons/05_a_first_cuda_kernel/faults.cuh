// Kernels with one fault each, to see what the simulator says to it. Two thread blocks of 128 threads
// work on two arrays of 200 floats. What would be right stands above each.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "lessons/05_a_first_cuda_kernel/faults.h"
#include "lessons/05_a_first_cuda_kernel/sizes.h"

namespace pagelab::lesson_05 {
inline namespace PAGELAB_TARGET {

// 256 threads, 200 elements. Right: if (i < params.count) before the last line.
__global__ void out_of_bounds(FaultParams params) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  params.out[i] = params.in[i];
}

// Adds to what is in `out`, where nobody has put anything. Right: fill `out` before the launch.
__global__ void never_written(FaultParams params) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < params.count) params.out[i] += params.in[i];
}

// A load of 16 bytes must begin at a multiple of 16. Right: 4 * i in place of 4 * i + 1.
__global__ void misaligned(FaultParams params) {
  const int i = threadIdx.x;
  if (4 * i + 4 >= params.count) return;
  const float4 four = *reinterpret_cast<const float4*>(params.in + 4 * i + 1);
  params.out[i] = four.x + four.y + four.z + four.w;
}

// Each thread adds its left neighbour's element to its own while the neighbour does the same.
// Right: read first, then a __syncthreads(), then write.
__global__ void race(FaultParams params) {
  __shared__ float tile[kThreadsPerCta];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < params.count ? params.in[i] : 0.0f;
  __syncthreads();
  if (threadIdx.x > 0) tile[threadIdx.x] += tile[threadIdx.x - 1];
  __syncthreads();
  if (i < params.count) params.out[i] = tile[threadIdx.x];
}

// The threads without an element do not come to the barrier. Right: the barrier outside of the `if`.
__global__ void divergent_barrier(FaultParams params) {
  __shared__ float tile[kThreadsPerCta];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < params.count) {
    tile[threadIdx.x] = params.in[i];
    __syncthreads();
    params.out[i] = tile[0] + tile[threadIdx.x];
  }
}

// Shared memory begins with rubbish, not with zeros. Right: the first thread stores 0 first.
__global__ void uninitialised_shared(FaultParams params) {
  __shared__ float sum;
  if (threadIdx.x == 0) sum += params.in[blockIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) params.out[blockIdx.x] = sum;
}

// The mask promises all 32 lanes, but the second thread block has elements for two warps and a quarter. Right: the shuffle
// outside of the `if`, and 0 from the lanes that have no element.
__global__ void missing_lane(FaultParams params) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < params.count) {
    const float mine = params.in[i];
    const float next = __shfl_down_sync(0xffffffffu, mine, 1);
    params.out[i] = mine + next;
  }
}

// Nothing is wrong with the kernel; it is the launch that cannot be. Right: 1024 threads at most.
__global__ void too_many_threads(FaultParams params) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < params.count) params.out[i] = params.in[i];
}

std::vector<Fault> faults() {
  return {
      {"out_of_bounds", out_of_bounds, kThreadsPerCta},
      {"never_written", never_written, kThreadsPerCta},
      {"misaligned", misaligned, kThreadsPerCta},
      {"race", race, kThreadsPerCta},
      {"divergent_barrier", divergent_barrier, kThreadsPerCta},
      {"uninitialised_shared", uninitialised_shared, kThreadsPerCta},
      {"missing_lane", missing_lane, kThreadsPerCta},
      {"too_many_threads", too_many_threads, 1025},
  };
}

void launch_fault(const Fault& fault, const FaultParams& params) {
  launch(fault.name, 2, fault.threads_per_cta, fault.kernel, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_05
