/// \file
/// How the kernels of this folder are timed: with CUDA events around the launches alone, beside a copy
/// from device to device that is measured first in the same run.
#pragma once

#include <benchmark/benchmark.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "gpu/runtime/device_array.h"
#include "reference/contract/error.h"

namespace pagelab::bench {

/// GPU time between two points, without the launch on the host.
class EventTimer {
 public:
  EventTimer() {
    cudaEventCreate(&start_);
    cudaEventCreate(&stop_);
  }
  ~EventTimer() {
    cudaEventDestroy(start_);
    cudaEventDestroy(stop_);
  }
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;

  /// Seconds that the GPU spends on what `work` launches.
  template <typename Work>
  double seconds_of(const Work& work) {
    cudaEventRecord(start_);
    work();
    cudaEventRecord(stop_);
    const cudaError_t status = cudaEventSynchronize(stop_);
    if (status != cudaSuccess) throw Error(cudaGetErrorString(status));
    float milliseconds = 0.0f;
    cudaEventElapsedTime(&milliseconds, start_, stop_);
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  cudaEvent_t start_;
  cudaEvent_t stop_;
};

/// Device memory whose every byte is 0x3c: small ordinary numbers in every float format.
DeviceArray numbers(std::int64_t bytes, const char* name);

/// Random bfloat16 numbers from −1 to 1, the same ones again after four million. Equal numbers would be faster:
/// a GPU that flips fewer bits may clock higher.
DeviceArray random_numbers(std::int64_t count, const char* name);

/// A copy of host values on the GPU.
template <typename T>
DeviceArray device_copy(const std::vector<T>& values, const char* name) {
  return DeviceArray::copy_of(cuda_device(), values, name);
}

/// Bytes a second that cudaMemcpy moves from device to device, read and written counted; best of ten.
double copy_bandwidth();

/// Bytes a second that a kernel reads which does nothing else: block_reduce/2_warp_shuffle over 4 GiB, far
/// more than the L2 cache holds; best of ten.
double read_bandwidth();

/// Runs and times the launches, and reports how many of the bytes that a copy could move were moved.
/// \param state   of the benchmark
/// \param bytes   that have to move at least, read and written counted
/// \param launch  called once before the timing, to load the kernel, and once an iteration
template <typename Launch>
void time_launches(benchmark::State& state, std::int64_t bytes, const Launch& launch) {
  const double bandwidth = copy_bandwidth();
  EventTimer timer;
  launch();  // the first launch loads the kernel
  cuda_device()->synchronize();
  double seconds = 0.0;
  for (auto _ : state) {
    const double elapsed = timer.seconds_of(launch);
    state.SetIterationTime(elapsed);
    seconds += elapsed;
  }
  const double rounds = static_cast<double>(state.iterations());
  const double bytes_per_second = static_cast<double>(bytes) * rounds / seconds;
  state.counters["GB/s"] = bytes_per_second * 1e-9;
  state.counters["copy GB/s"] = bandwidth * 1e-9;
  state.counters["share of copy"] = bytes_per_second / bandwidth;
}

/// Registers the rungs of block_reduce, scan, transpose, histogram and matmul.
void register_ladders();

/// Registers batches with a shared prefix, flat and in a cascade.
void register_cascade();
/// Registers every rung of paged_decode.
void register_decode();
/// Registers the rungs of paged_prefill, and cuBLAS beside them.
void register_prefill();

}  // namespace pagelab::bench
