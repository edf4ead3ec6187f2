// Threads that spin for ever, and such that only seem to: lanes of one warp that fight for a lock.

#include "tests/simulator/faults/fault_kernel.h"
#include "tests/simulator/meetings/meeting_faults.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

// Who has the lock adds one, and gives it back. As on a GPU since Volta, the lanes that spin do not
// keep the one from going on that has it.
template <bool kIsSound>
__global__ void lock_never_given_back(FaultParams params) {
  bool is_done = false;
  while (!is_done) {
    if (atomicCAS(params.count, 0, 1) == 0) {  // <- lock_never_given_back
      atomicAdd(&params.y[1], 1.0f);
      if (kIsSound) atomicExch(params.count, 0);
      is_done = true;
    }
  }
}

// A thread that has the lock waits for it.
template <bool kIsSound>
__global__ void lock_taken_twice(FaultParams params) {
  if (threadIdx.x != 3) return;
  while (atomicExch(params.count, 1) != 0) {
  }
  if (kIsSound) atomicExch(params.count, 0);
  while (atomicExch(params.count, 1) != 0) {  // <- lock_taken_twice
  }
  params.y[0] = 1.0f;
}

// A lock for whole warps: one lane takes it, and tells the others.
template <bool kIsSound>
__global__ void lock_of_a_warp(FaultParams params) {
  const bool is_leader = threadIdx.x % 32 == 0;
  int has_lock = 0;
  while (has_lock == 0) {
    if (is_leader) has_lock = atomicCAS(params.count, 0, 1) == 0 ? 1 : 0;  // <- lock_of_a_warp
    has_lock = __shfl_sync(0xffffffffu, has_lock, 0);
  }
  if (is_leader) atomicAdd(&params.y[0], 1.0f);
  __syncwarp();
  if (kIsSound && is_leader) atomicExch(params.count, 0);
}

// A thread waits at a barrier that the one with work for it has still to reach, which spins.
template <bool kIsSound>
__global__ void spins_before_a_barrier(FaultParams params) {
  if (kIsSound && threadIdx.x == 63) atomicExch(params.count, 1);
  if (threadIdx.x < 40) {
    while (atomicAdd(params.count, 0) == 0) {  // <- spins_before_a_barrier
    }
  }
  __syncthreads();
  if (!kIsSound && threadIdx.x == 63) atomicExch(params.count, 1);
}

// A thread block waits for one that nothing says has begun.
template <bool kIsSound>
__global__ void waits_for_a_thread_block(FaultParams params) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 1) atomicExch(params.count, 1);
  bool waits = !kIsSound && blockIdx.x == 0;
  while (waits) {
    waits = atomicAdd(params.count, 0) == 0;  // <- waits_for_a_thread_block
  }
}

}  // namespace

std::vector<Fault> lock_faults() {
  return {
      PAGELAB_FAULT(lock_never_given_back, {.cta = 64}),
      PAGELAB_FAULT(lock_taken_twice, {.cta = 32}),
      PAGELAB_FAULT(lock_of_a_warp, {.cta = 96}),
      PAGELAB_FAULT(spins_before_a_barrier, {.cta = 64}),
      PAGELAB_FAULT(waits_for_a_thread_block, {.grid = 2, .cta = 32}),
  };
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
