// Barriers that not all threads of the block reach.

#include "tests/simulator/faults/fault_kernel.h"
#include "tests/simulator/meetings/meeting_faults.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

// S5. A barrier is for all threads of the block, also for those without work.
template <bool kIsSound>
__global__ void barrier_in_a_branch(FaultParams params) {
  __shared__ float tile[32];
  const unsigned int i = threadIdx.x;
  tile[i] = 0.0f;
  if (i < 14) {
    tile[i] = static_cast<float>(i);
    if (!kIsSound) __syncthreads();  // <- barrier_in_a_branch
  }
  if (kIsSound) __syncthreads();
  if (i < 14) params.y[i] = tile[13 - i];
}

// Threads beyond the end leave before the others meet.
template <bool kIsSound>
__global__ void return_before_a_barrier(FaultParams params) {
  __shared__ float tile[64];
  const unsigned int i = threadIdx.x;
  const bool has_work = i < 45;
  if (!kIsSound && !has_work) return;
  tile[i] = static_cast<float>(i);
  __syncthreads();  // <- return_before_a_barrier
  if (has_work) params.y[i] = tile[44 - i];
}

// Each branch has a barrier of its own; a thread of one never reaches the other's.
template <bool kIsSound>
__global__ void two_barriers_of_an_if(FaultParams params) {
  __shared__ float tile[64];
  const unsigned int i = threadIdx.x;
  if (i < 32) {
    tile[i] = 1.0f;
    if (!kIsSound) __syncthreads();  // <- two_barriers_of_an_if, first
  } else {
    tile[i] = 2.0f;
    if (!kIsSound) __syncthreads();  // <- two_barriers_of_an_if, second
  }
  if (kIsSound) __syncthreads();
  params.y[i] = tile[63 - i];
}

// The barrier that counts is not the one that does not.
template <bool kIsSound>
__global__ void barrier_against_count(FaultParams params) {
  const unsigned int i = threadIdx.x;
  int count = 0;
  if (kIsSound || i < 16) {
    count = __syncthreads_count(1);  // <- barrier_against_count, first
  } else {
    __syncthreads();  // <- barrier_against_count, second
  }
  params.y[i] = static_cast<float>(count);
}

// Warps that go round a loop more or less often meet more or less often.
template <bool kIsSound>
__global__ void loops_of_two_lengths(FaultParams params) {
  const unsigned int i = threadIdx.x;
  const unsigned int rounds = kIsSound ? 2 : 1 + i / 32;
  for (unsigned int round = 0; round < rounds; ++round) {
    params.y[i] += 1.0f;
    __syncthreads();  // <- loops_of_two_lengths
  }
}

// Some wait for their warp, and the rest for the block.
template <bool kIsSound>
__global__ void barrier_against_syncwarp(FaultParams params) {
  const unsigned int i = threadIdx.x;
  if (kIsSound || i != 5) {
    __syncthreads();  // <- barrier_against_syncwarp, first
  } else {
    __syncwarp();  // <- barrier_against_syncwarp, second
  }
  params.y[i] = 1.0f;
}

// No barrier: 40 KiB of static arrays and 200 KiB of dynamic shared memory are more than there is.
template <bool kIsSound>
__global__ void static_and_dynamic_shared(FaultParams params) {
  constexpr unsigned int kLength = kIsSound ? 1024 : 10 * 1024;
  __shared__ float tile[kLength];
  float* const dynamic = dynamic_shared_memory<float>();
  const unsigned int i = threadIdx.x;
  tile[i] = 1.0f;
  dynamic[i] = 2.0f;
  params.y[i] = tile[i] + dynamic[i];
}

}  // namespace

std::vector<Fault> launch_faults() {
  return {PAGELAB_FAULT(static_and_dynamic_shared, {.cta = 32, .shared_bytes = 200 * 1024})};
}

std::vector<Fault> barrier_faults() {
  return {
      PAGELAB_FAULT(barrier_in_a_branch, {.cta = 32}),
      PAGELAB_FAULT(return_before_a_barrier, {.cta = 64}),
      PAGELAB_FAULT(two_barriers_of_an_if, {.cta = 64}),
      PAGELAB_FAULT(barrier_against_count, {.cta = 40}),
      PAGELAB_FAULT(loops_of_two_lengths, {.cta = 64}),
      PAGELAB_FAULT(barrier_against_syncwarp, {.cta = 32}),
  };
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
