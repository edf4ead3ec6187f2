// Races that a warp's own barriers would prevent, and reads of what an asynchronous copy has not
// brought yet.

#include "gpu/device/cp_async.h"
#include "tests/simulator/faults/fault_kernel.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

// Two lanes of a warp exchange values through shared memory. They need a barrier, too: nothing promises
// that they march in step.
template <bool kIsSound>
__global__ void missing_syncwarp(FaultParams params) {
  __shared__ float tile[32];
  const unsigned int i = threadIdx.x;
  tile[i] = 0.0f;
  __syncwarp();
  if (i == 5) tile[3] = 1.0f;  // <- missing_syncwarp, the write
  if (kIsSound) __syncwarp();
  if (i == 12) params.y[i] = tile[3];  // <- missing_syncwarp, the read
}

// The lanes that meet must be those that exchange.
template <bool kIsSound>
__global__ void syncwarp_of_too_few_lanes(FaultParams params) {
  __shared__ float tile[32];
  const unsigned int i = threadIdx.x;
  const unsigned int mask = kIsSound ? 0x0000ffffu : 0x000000ffu;
  const bool meets = (mask >> i & 1u) != 0;
  tile[i] = 0.0f;
  __syncwarp();
  if (i == 5) tile[3] = 1.0f;  // <- syncwarp_of_too_few_lanes, the write
  if (meets) __syncwarp(mask);
  if (i == 12) params.y[i] = tile[3];  // <- syncwarp_of_too_few_lanes, the read
}

// A shuffle makes lanes meet, but it orders no memory.
template <bool kIsSound>
__global__ void shuffle_for_a_barrier(FaultParams params) {
  __shared__ float tile[32];
  const unsigned int i = threadIdx.x;
  tile[i] = 0.0f;
  __syncwarp();
  if (i == 5) tile[3] = 1.0f;  // <- shuffle_for_a_barrier, the write
  const unsigned int first = __shfl_sync(0xffffffffu, i, 0);
  if (kIsSound) __syncwarp();
  if (i == 12) params.y[first] = tile[3];  // <- shuffle_for_a_barrier, the read
}

// A warp's barrier says nothing about another warp.
template <bool kIsSound>
__global__ void syncwarp_between_warps(FaultParams params) {
  __shared__ float tile[64];
  const unsigned int i = threadIdx.x;
  tile[i] = 0.0f;
  __syncthreads();
  if (i == 5) tile[3] = 1.0f;  // <- syncwarp_between_warps, the write
  __syncwarp();
  if (kIsSound) __syncthreads();
  if (i == 37) params.y[i] = tile[3];  // <- syncwarp_between_warps, the read
}

// The thread reads its own copy before it has waited.
template <bool kIsSound>
__global__ void read_before_the_wait(FaultParams params) {
  __shared__ __align__(16) float tile[8];
  if (threadIdx.x != 3) return;
  cp_async<16>(tile, params.x);  // <- read_before_the_wait, the copy
  cp_async_commit();
  if (kIsSound) cp_async_wait<0>();
  params.y[0] = tile[2];  // <- read_before_the_wait, the read
  cp_async_wait<0>();
}

// Each thread has waited for its own copy, which says nothing about its neighbour's.
template <bool kIsSound>
__global__ void missing_barrier_after_the_wait(FaultParams params) {
  __shared__ float tile[64];
  const unsigned int i = threadIdx.x;
  tile[i] = 0.0f;
  __syncthreads();
  if (i == 5) cp_async<4>(&tile[3], &params.x[3]);  // <- missing_barrier_after_the_wait, the copy
  cp_async_commit();
  cp_async_wait<0>();  // <- missing_barrier_after_the_wait, the wait
  if (kIsSound) __syncthreads();
  if (i == 37) params.y[i] = tile[3];  // <- missing_barrier_after_the_wait, the read
}

}  // namespace

std::vector<Fault> warp_and_copy_faults() {
  return {
      PAGELAB_FAULT(missing_syncwarp, {1, 32}),
      PAGELAB_FAULT(syncwarp_of_too_few_lanes, {1, 32}),
      PAGELAB_FAULT(shuffle_for_a_barrier, {1, 32}),
      PAGELAB_FAULT(syncwarp_between_warps, {1, 64}),
      PAGELAB_FAULT(read_before_the_wait, {}),
      PAGELAB_FAULT(missing_barrier_after_the_wait, {1, 64}),
  };
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
