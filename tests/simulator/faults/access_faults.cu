// Accesses to bytes that may not be touched: outside every array, freed, never written, misaligned.

#include "tests/simulator/faults/fault_kernel.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

// S8: 8 threads, 4 elements.
template <bool kIsSound>
__global__ void global_write_out_of_bounds(FaultParams params) {
  const unsigned int i = threadIdx.x;
  if (kIsSound && i >= 4) return;
  params.small[i] = 1.0f;  // <- global_write_out_of_bounds
}

template <bool kIsSound>
__global__ void global_read_out_of_bounds(FaultParams params) {
  const unsigned int i = threadIdx.x;
  const unsigned int next = kIsSound ? (i + 1) % 8 : i + 1;
  const float right = params.x[next];  // <- global_read_out_of_bounds
  params.y[i] = right;
}

// The index is applied to the array, whose size the compiler knows.
template <bool kIsSound>
__global__ void shared_index_out_of_bounds(FaultParams params) {
  __shared__ float tile[8];
  const unsigned int i = threadIdx.x;
  const unsigned int next = kIsSound ? (i + 1) % 8 : i + 1;
  tile[next] = params.x[i];  // <- shared_index_out_of_bounds
  __syncthreads();
  params.y[i] = tile[i == 0 ? 1 : i];
}

__device__ __attribute__((noinline)) void store(float* array, unsigned int i, float value) {
  array[i] = value;  // <- shared_pointer_out_of_bounds
}

// The index is applied to a pointer. Behind the 9 floats, 12 bytes belong to no array: compilers lay
// out the array that was declared last first, and the other one begins at a multiple of 16.
template <bool kIsSound>
__global__ void shared_pointer_out_of_bounds(FaultParams params) {
  __shared__ __align__(16) float other[4];
  __shared__ __align__(16) float tile[9];
  const unsigned int i = threadIdx.x;
  store(tile, kIsSound ? i + 1 : i + 2, params.x[i]);
  if (i < 4) store(other, i, params.x[i]);
  __syncthreads();
  params.y[i] = i < 4 ? other[i] : tile[i];
}

// The launch asks for 8 floats.
template <bool kIsSound>
__global__ void dynamic_shared_out_of_bounds(FaultParams params) {
  float* tile = dynamic_shared_memory<float>();
  const unsigned int i = threadIdx.x;
  const unsigned int next = kIsSound ? (i + 1) % 8 : i + 1;
  tile[next] = params.x[i];  // <- dynamic_shared_out_of_bounds
  __syncthreads();
  params.y[i] = tile[i == 0 ? 1 : i];
}

// A load of 16 bytes begins at the second float.
template <bool kIsSound>
__global__ void misaligned_vector_load(FaultParams params) {
  if (threadIdx.x != 3) return;
  const float* begin = kIsSound ? params.x + 4 : params.x + 1;
  const float4 four = *reinterpret_cast<const float4*>(begin);  // <- misaligned_vector_load
  params.y[0] = four.x + four.y + four.z + four.w;
}

// A store of 8 bytes begins at the second float.
template <bool kIsSound>
__global__ void misaligned_vector_store(FaultParams params) {
  if (threadIdx.x != 3) return;
  float* begin = kIsSound ? params.y + 2 : params.y + 1;
  *reinterpret_cast<float2*>(begin) = make_float2(1.0f, 2.0f);  // <- misaligned_vector_store
}

template <bool kIsSound>
__global__ void null_pointer(FaultParams params) {
  if (threadIdx.x != 3) return;
  const float* array = kIsSound ? params.x : params.missing;
  const float element = array[2];  // <- null_pointer
  params.y[0] = element;
}

template <bool kIsSound>
__global__ void use_after_free(FaultParams params) {
  if (threadIdx.x != 3) return;
  const float* array = kIsSound ? params.x : params.freed;
  const float element = array[2];  // <- use_after_free
  params.y[0] = element;
}

template <bool kIsSound>
__global__ void uninitialised_global_read(FaultParams params) {
  if (threadIdx.x != 3) return;
  const float* array = kIsSound ? params.x : params.unwritten;
  const float element = array[2];  // <- uninitialised_global_read
  params.y[0] = element;
}

// S4: 15 elements in thread blocks of 8, so the last element of the second one's tile is never
// written; the first one's lay in the same place.
template <bool kIsSound>
__global__ void uninitialised_shared_read(FaultParams params) {
  __shared__ float tile[8];
  const unsigned int i = blockIdx.x * 8 + threadIdx.x;
  const unsigned int n = kIsSound ? 16 : 15;
  if (i < n) tile[threadIdx.x] = params.x[threadIdx.x];
  __syncthreads();
  const float mirrored = tile[7 - threadIdx.x];  // <- uninitialised_shared_read
  params.y[i] = mirrored;
}

}  // namespace

std::vector<Fault> access_faults() {
  return {
      PAGELAB_FAULT(global_write_out_of_bounds, {}),
      PAGELAB_FAULT(global_read_out_of_bounds, {}),
      PAGELAB_FAULT(shared_index_out_of_bounds, {}),
      PAGELAB_FAULT(shared_pointer_out_of_bounds, {}),
      PAGELAB_FAULT(dynamic_shared_out_of_bounds, {1, 8, 8 * sizeof(float)}),
      PAGELAB_FAULT(misaligned_vector_load, {}),
      PAGELAB_FAULT(misaligned_vector_store, {}),
      PAGELAB_FAULT(null_pointer, {}),
      PAGELAB_FAULT(use_after_free, {}),
      PAGELAB_FAULT(uninitialised_global_read, {}),
      PAGELAB_FAULT(uninitialised_shared_read, {2, 8}),
  };
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
