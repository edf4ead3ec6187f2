// Races: two threads touch the same bytes, one of them writes, and no barrier lies between.

#include "tests/simulator/faults/fault_kernel.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

// Thread 5 writes what thread 37, of another warp, reads.
template <bool kIsSound>
__global__ void shared_race_of_read_and_write(FaultParams params) {
  __shared__ float tile[64];
  const unsigned int i = threadIdx.x;
  tile[i] = 0.0f;
  __syncthreads();
  if (i == 5) tile[3] = 1.0f;  // <- shared_race_of_read_and_write, the write
  if (kIsSound) __syncthreads();
  if (i == 37) params.y[i] = tile[3];  // <- shared_race_of_read_and_write, the read
}

template <bool kIsSound>
__global__ void shared_race_of_writes(FaultParams params) {
  __shared__ float tile[64];
  const unsigned int i = threadIdx.x;
  if (i == 5) tile[3] = 1.0f;  // <- shared_race_of_writes, thread 5
  if (kIsSound) __syncthreads();
  if (i == 37) tile[3] = 2.0f;  // <- shared_race_of_writes, thread 37
  __syncthreads();
  params.y[i] = tile[3];
}

template <bool kIsSound>
__global__ void global_race_of_read_and_write(FaultParams params) {
  const unsigned int i = threadIdx.x;
  if (i == 5) params.x[3] = 1.0f;  // <- global_race_of_read_and_write, the write
  if (kIsSound) __syncthreads();
  if (i == 37) params.y[i] = params.x[3];  // <- global_race_of_read_and_write, the read
}

template <bool kIsSound>
__global__ void global_race_of_writes(FaultParams params) {
  const unsigned int i = threadIdx.x;
  if (i == 5) params.x[3] = 1.0f;  // <- global_race_of_writes, thread 5
  if (kIsSound) __syncthreads();
  if (i == 37) params.x[3] = 2.0f;  // <- global_race_of_writes, thread 37
}

// The first thread block writes what the second one reads; a barrier joins the threads of one only.
template <bool kIsSound>
__global__ void race_of_thread_blocks(FaultParams params) {
  const unsigned int mine = 4 * blockIdx.x;
  const unsigned int other = kIsSound ? mine : 0;
  if (threadIdx.x == 1 && blockIdx.x == 0)
    params.x[mine] = 1.0f;  // <- race_of_thread_blocks, the write
  __syncthreads();
  if (threadIdx.x == 2 && blockIdx.x == 1)
    params.y[0] = params.x[other];  // <- race_of_thread_blocks, the read
}

// S6: each thread adds its left neighbours' sums to its own, in place.
template <bool kIsSound>
__global__ void scan_in_place(FaultParams params) {
  __shared__ float sums[8];
  const unsigned int i = threadIdx.x;
  sums[i] = params.x[i];
  __syncthreads();
  for (unsigned int distance = 1; distance < 8; distance *= 2) {
    const float left = i >= distance ? sums[i - distance] : 0.0f;  // <- scan_in_place, the read
    if (kIsSound) __syncthreads();
    sums[i] += left;  // <- scan_in_place, the write
    __syncthreads();
  }
  params.y[i] = sums[i];
}

// An atomic is no protection from an access that is none.
template <bool kIsSound>
__global__ void race_of_atomic_and_read(FaultParams params) {
  const unsigned int i = threadIdx.x;
  if (i == 5) atomicAdd(params.count, 1);  // <- race_of_atomic_and_read, thread 5
  if (i == 6) atomicAdd(params.count, 1);  // <- race_of_atomic_and_read, thread 6
  if (kIsSound) __syncthreads();
  if (i == 37)
    params.y[i] = static_cast<float>(*params.count);  // <- race_of_atomic_and_read, the read
}

template <bool kIsSound>
__global__ void race_of_bytes(FaultParams params) {
  const unsigned int i = threadIdx.x;
  const unsigned int place = !kIsSound && i == 6 ? 5 : i;
  if (i == 5) params.bytes[place] = 1;  // <- race_of_bytes, thread 5
  if (i == 6) params.bytes[place] = 2;  // <- race_of_bytes, thread 6
  if (i == 4 || i == 7) params.bytes[place] = 3;
}

}  // namespace

std::vector<Fault> race_faults() {
  return {
      PAGELAB_FAULT(shared_race_of_read_and_write, {1, 64}),
      PAGELAB_FAULT(shared_race_of_writes, {1, 64}),
      PAGELAB_FAULT(global_race_of_read_and_write, {1, 64}),
      PAGELAB_FAULT(global_race_of_writes, {1, 64}),
      PAGELAB_FAULT(race_of_thread_blocks, {2, 8}),
      PAGELAB_FAULT(scan_in_place, {1, 8}),
      PAGELAB_FAULT(race_of_atomic_and_read, {1, 64}),
      PAGELAB_FAULT(race_of_bytes, {1, 8}),
  };
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
