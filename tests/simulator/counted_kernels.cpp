#include "tests/simulator/counted_kernels.h"

#include "gpu/device/cp_async.h"
#include "gpu/device/ldmatrix.h"
#include "gpu/device/mma.h"
#include "gpu/device/shared_memory.h"
#include "simulator/simt/cuda_words.h"
#include "simulator/simt/launch.h"

namespace pagelab::test {
namespace {

template <typename Kernel>
void launch_checked(const char* name,
                    unsigned int ctas,
                    unsigned int threads,
                    const Kernel& kernel) {
  simt::launch({name, ctas, threads, 0, simt::Checks::kOn}, kernel);
}

__global__ void strided_load(const float* x, float* y, int offset, int stride) {
  const int t = static_cast<int>(threadIdx.x);
  const float element = x[offset + t * stride];
  y[t] = element;
}

__global__ void byte_copy(const std::uint8_t* x, std::uint8_t* y) {
  y[threadIdx.x] = x[threadIdx.x];
}

__global__ void pair_copy(const float2* x, float2* y) {
  float2 pair = x[threadIdx.x];
  pair.x += 1.0f;
  pair.y += 1.0f;
  y[threadIdx.x] = pair;
}

__global__ void quad_copy(const float4* x, float4* y) {
  float4 quad = x[threadIdx.x];
  quad.x += 1.0f;
  quad.y += 1.0f;
  quad.z += 1.0f;
  quad.w += 1.0f;
  y[threadIdx.x] = quad;
}

const int kFirstLine = __LINE__;
template <int kRowLength>
__global__ void shared_column(float* y) {
  __shared__ float tile[32][kRowLength];
  const unsigned int t = threadIdx.x;
  for (int row = 0; row < 32; ++row) tile[row][t] = static_cast<float>(row);
  __syncthreads();
  const float element = tile[t][3];
  y[t] = element;
}

__global__ void shared_quads(float* y) {
  __shared__ float4 quads[32];
  const unsigned int t = threadIdx.x;
  const float first = static_cast<float>(4 * t);
  quads[t] = make_float4(first, first + 1, first + 2, first + 3);
  __syncthreads();
  const float4 quad = quads[(t + 1) % 32];
  y[t] = quad.x + quad.w;
}

__global__ void shared_broadcast(float* y) {
  __shared__ float number;
  if (threadIdx.x == 0) number = 5.0f;
  __syncthreads();
  const float element = number;
  y[threadIdx.x] = element;
}

__global__ void dynamic_shared(float* y) {
  float* const numbers = dynamic_shared_memory<float>();
  const unsigned int t = threadIdx.x;
  numbers[t] = static_cast<float>(t);
  __syncthreads();
  const float element = numbers[t ^ 1];
  y[t] = element;
}

[[gnu::noinline]] __device__ float called_load(const float* x, unsigned int t) {
  const float element = x[t];
  return element;
}

template <bool kCallsFunction>
__global__ void halves(const float* x, const float* z, float* y) {
  const unsigned int t = threadIdx.x;
  float element;
  if (t < 16) {
    element = kCallsFunction ? called_load(x, t) : x[t];
  } else {
    element = kCallsFunction ? called_load(z, t) : z[t];
  }
  y[t] = element + 1.0f;
}

// Lanes that have left the loop wait at the second call, others still come by the first.
__global__ void two_calls(const float* x, const float* z, float* y) {
  const unsigned int t = threadIdx.x;
  float sum = 0.0f;
  for (unsigned int row = 0; row < t % 3 + 1; ++row) sum += called_load(x, 32 * row + t);
  sum += called_load(z, t);
  y[t] = sum;
}

__global__ void different_trips(const float* x, float* y) {
  const int t = static_cast<int>(threadIdx.x);
  float sum = 0.0f;
  for (int row = 0; row < t % 3 + 1; ++row) {
    const float element = x[32 * row + t];
    sum += element;
  }
  y[t] = sum;
}

__global__ void skipped_rest(const float* x, float* y) {
  const unsigned int t = threadIdx.x;
  for (unsigned int row = 0; row < 3; ++row) {
    const float element = x[32 * row + t];
    if ((static_cast<unsigned int>(element) + row) % 2 == 0) continue;
    y[32 * row + t] = element;
  }
}

__global__ void early_return(const float* x, float* y) {
  const unsigned int t = threadIdx.x;
  if (t % 4 == 0) return;
  float element = 0.0f;
  if (t % 2 == 1) element = x[t];
  y[t] = element;
}

__global__ void global_atomics(int* numbers, int distinct) {
  atomicAdd(&numbers[static_cast<int>(threadIdx.x) % distinct], 1);
}

__global__ void shared_atomics(int* numbers, int distinct) {
  __shared__ int counts[32];
  const int t = static_cast<int>(threadIdx.x);
  counts[t] = 0;
  __syncthreads();
  atomicAdd(&counts[t % distinct], 1);
  __syncthreads();
  numbers[t] = counts[t];
}

__global__ void lock_in_turn(int* lock, int* number) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  const int before = atomicAdd(number, 0);
  atomicExch(number, before + 1);
  atomicExch(lock, 0);
}

__global__ void words(float* y) {
  const unsigned int t = threadIdx.x;
  float sum = static_cast<float>(t);
  for (unsigned int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_down_sync(0xffffffffu, sum, distance);
  }
  __syncthreads();
  const unsigned int odd = __ballot_sync(0xffffffffu, t % 2);
  const unsigned int most = __reduce_max_sync(0xffffffffu, t);
  __syncwarp();
  const int count = __syncthreads_count(t == 3);
  y[t] = sum + static_cast<float>(odd & 1u) + static_cast<float>(most) + static_cast<float>(count);
}

__global__ void activemasks(const float* x, unsigned int* masks) {
  const unsigned int t = threadIdx.x;
  unsigned int mask;
  if (x[t] > 0.0f) {
    mask = __activemask();
  } else {
    const float element = x[31 - t];
    mask = __activemask() + static_cast<unsigned int>(element * 0.0f);
  }
  masks[t] = mask;
  masks[32 + t] = __activemask();
}

__global__ void async_copy(const float* x, float* y, unsigned int num_readers) {
  __shared__ float4 quads[32];
  const unsigned int t = threadIdx.x;
  cp_async<16>(&quads[t], &x[4 * t], t < num_readers ? 16 : 0);
  cp_async_commit();
  cp_async_wait<0>();
  __syncthreads();
  const float4 quad = quads[t];
  y[t] = quad.y;
}

// c = a · aᵀ in bfloat16, for its first 16 × 8 elements; a row of a has kRowElements, 16 of them used.
template <int kRowElements>
__global__ void matrix_product(const std::uint16_t* a, float* c) {
  __shared__ __align__(16) std::uint16_t tile[16][kRowElements];
  const unsigned int lane = threadIdx.x;
  for (unsigned int row = 0; row < 16; ++row) {
    if (lane < 16) tile[row][lane] = a[16 * row + lane];
  }
  __syncthreads();
  std::uint32_t a_fragment[4];
  std::uint32_t b_fragment[2];
  ldmatrix_x4(a_fragment, &tile[lane % 16][lane / 16 * 8]);
  ldmatrix_x2(b_fragment, &tile[lane % 8][lane / 8 % 2 * 8]);
  const float zeros[4] = {0, 0, 0, 0};
  float sums[4];
  mma_m16n8k16_bf16(sums, a_fragment, b_fragment, zeros);
  c[lane] = sums[0];
}

__global__ void grid_copy(const float* x, float* y, int count) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < static_cast<unsigned int>(count)) y[i] = x[i];
}

}  // namespace

const int kColumnStoreLine = kFirstLine + 5;
const int kColumnBarrierLine = kFirstLine + 6;
const int kColumnLoadLine = kFirstLine + 7;

void count_strided_load(const float* x, float* y, int offset, int stride, unsigned int threads) {
  launch_checked("strided_load", 1, threads, [&] { strided_load(x, y, offset, stride); });
}
void count_byte_copy(const std::uint8_t* x, std::uint8_t* y) {
  launch_checked("byte_copy", 1, 32, [&] { byte_copy(x, y); });
}
void count_pair_copy(const float* x, float* y) {
  launch_checked("pair_copy", 1, 32, [&] {
    pair_copy(reinterpret_cast<const float2*>(x), reinterpret_cast<float2*>(y));
  });
}
void count_quad_copy(const float* x, float* y) {
  launch_checked("quad_copy", 1, 32, [&] {
    quad_copy(reinterpret_cast<const float4*>(x), reinterpret_cast<float4*>(y));
  });
}
void count_shared_column(float* y) {
  launch_checked("shared_column", 1, 32, [&] { shared_column<32>(y); });
}
void count_padded_column(float* y) {
  launch_checked("padded_column", 1, 32, [&] { shared_column<33>(y); });
}
void count_shared_quads(float* y) {
  launch_checked("shared_quads", 1, 32, [&] { shared_quads(y); });
}
void count_shared_broadcast(float* y) {
  launch_checked("shared_broadcast", 1, 32, [&] { shared_broadcast(y); });
}
void count_dynamic_shared(float* y) {
  simt::launch({"dynamic_shared", 1, 32, 32 * sizeof(float), simt::Checks::kOn},
               [&] { dynamic_shared(y); });
}
void count_halves(const float* x, const float* z, float* y, bool calls_function) {
  launch_checked("halves", 1, 32, [&] {
    if (calls_function) {
      halves<true>(x, z, y);
    } else {
      halves<false>(x, z, y);
    }
  });
}
void count_two_calls(const float* x, const float* z, float* y) {
  launch_checked("two_calls", 1, 32, [&] { two_calls(x, z, y); });
}
void count_different_trips(const float* x, float* y) {
  launch_checked("different_trips", 1, 32, [&] { different_trips(x, y); });
}
void count_skipped_rest(const float* x, float* y) {
  launch_checked("skipped_rest", 1, 32, [&] { skipped_rest(x, y); });
}
void count_early_return(const float* x, float* y) {
  launch_checked("early_return", 1, 32, [&] { early_return(x, y); });
}
void count_global_atomics(int* numbers, int distinct) {
  launch_checked("global_atomics", 1, 32, [&] { global_atomics(numbers, distinct); });
}
void count_shared_atomics(int* numbers, int distinct) {
  launch_checked("shared_atomics", 1, 32, [&] { shared_atomics(numbers, distinct); });
}
void count_lock(int* lock, int* number) {
  launch_checked("lock_in_turn", 1, 8, [&] { lock_in_turn(lock, number); });
}
void count_words(float* y, unsigned int threads) {
  launch_checked("words", 1, threads, [&] { words(y); });
}
void count_activemask(const float* x, unsigned int* masks) {
  launch_checked("activemasks", 1, 32, [&] { activemasks(x, masks); });
}
void count_async_copy(const float* x, float* y, unsigned int num_readers) {
  launch_checked("async_copy", 1, 32, [&] { async_copy(x, y, num_readers); });
}
void count_matrix_product(const std::uint16_t* a, float* c, bool is_padded) {
  launch_checked("matrix_product", 1, 32, [&] {
    if (is_padded) {
      matrix_product<24>(a, c);
    } else {
      matrix_product<16>(a, c);
    }
  });
}
void count_grid(const float* x, float* y, int count) {
  const unsigned int num_ctas = (static_cast<unsigned int>(count) + 63) / 64;
  launch_checked("grid_copy", num_ctas, 64, [&] { grid_copy(x, y, count); });
}
void launch_unchecked() {
  simt::launch({"unchecked", 1, 32}, [] {});
}

}  // namespace pagelab::test
