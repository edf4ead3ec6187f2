#include "tests/simulator/kernels_under_test.h"

#include <cstring>

#include "simulator/simt/cuda_words.h"
#include "simulator/simt/launch.h"

namespace pagelab::test {
namespace {

__global__ void fill(float* x, int n, bool checks_bounds) {
  const int thread = static_cast<int>(threadIdx.x);
  if (checks_bounds && thread >= n) return;
  x[thread] = static_cast<float>(thread + 1);
}

__global__ void shifted_copy(const double* x, double* y, std::int64_t shift) {
  const std::int64_t thread = threadIdx.x;
  y[thread] = x[thread + shift];
}

template <typename T>
__global__ void copy(const T* x, T* y) {
  y[threadIdx.x] = x[threadIdx.x];
}

template <typename T>
void launch_copy(const T* x, T* y, unsigned int threads) {
  simt::launch({"copy", 1, threads, 0, simt::Checks::kOn}, [&] { copy(x, y); });
}

__global__ void sum(const float* x, float* sum, int n) {
  float partial[4] = {0, 0, 0, 0};
  for (int i = 0; i < n; ++i) partial[i % 4] += x[i];
  sum[0] = partial[0] + partial[1] + partial[2] + partial[3];
}

__global__ void one_bad_thread(float* x, std::int64_t bad_index) {
  const bool is_the_one = blockIdx.x == 2 && blockIdx.y == 1 && threadIdx.x == 1;
  if (is_the_one) x[bad_index] = 1.0f;
}

__global__ void reverse_tiles(const float* x, float* y) {
  __shared__ float tile[5];
  tile[threadIdx.x] = x[blockIdx.x * 5 + threadIdx.x];
  __syncthreads();
  y[blockIdx.x * 5 + threadIdx.x] = tile[4 - threadIdx.x];
}

// What shared memory holds when a thread block begins, by way of memcpy, which the checks do not see.
__global__ void leftovers(float* y, std::size_t bytes) {
  __shared__ float tile[5];
  if (threadIdx.x == 0) std::memcpy(y + blockIdx.x * 5, tile, bytes);
  __syncthreads();
  tile[threadIdx.x] = 7.0f;
}

}  // namespace

void run_fill(float* x, int n, bool checks_bounds, unsigned int threads) {
  simt::launch({"fill", 1, threads, 0, simt::Checks::kOn}, [&] { fill(x, n, checks_bounds); });
}

void run_shifted_copy(const double* x, double* y, std::int64_t shift, unsigned int threads) {
  simt::launch({"shifted_copy", 1, threads, 0, simt::Checks::kOn},
               [&] { shifted_copy(x, y, shift); });
}

void run_copy(const std::uint8_t* x, std::uint8_t* y, unsigned int threads) {
  launch_copy(x, y, threads);
}
void run_copy(const std::uint16_t* x, std::uint16_t* y, unsigned int threads) {
  launch_copy(x, y, threads);
}
void run_copy(const std::uint32_t* x, std::uint32_t* y, unsigned int threads) {
  launch_copy(x, y, threads);
}
void run_copy(const std::uint64_t* x, std::uint64_t* y, unsigned int threads) {
  launch_copy(x, y, threads);
}
void run_copy(const Triple* x, Triple* y, unsigned int threads) { launch_copy(x, y, threads); }

void run_sum(const float* x, float* total, int n) {
  simt::launch({"sum", 1, 1, 0, simt::Checks::kOn}, [&] { sum(x, total, n); });
}

void run_reverse_tiles(const float* x, float* y) {
  simt::launch({"reverse_tiles", 3, 5, 0, simt::Checks::kOn}, [&] { reverse_tiles(x, y); });
}

void run_leftovers(float* y) {
  simt::launch({"leftovers", 3, 5, 0, simt::Checks::kOn}, [&] { leftovers(y, 5 * sizeof(float)); });
}

void run_one_bad_thread(float* x, std::int64_t bad_index) {
  simt::launch({"one_bad_thread", simt::dim3(3, 2), simt::dim3(2), 0, simt::Checks::kOn},
               [&] { one_bad_thread(x, bad_index); });
}

}  // namespace pagelab::test
