#include "benchmarks/gpu/timing.h"

#include <algorithm>
#include <random>

#include "gpu/backends/kernels_of.h"
#include "reference/numerics/float_formats.h"

namespace pagelab::bench {

DeviceArray numbers(std::int64_t bytes, const char* name) {
  DeviceArray array(cuda_device(), static_cast<std::size_t>(bytes), name);
  cuda_device()->fill(array.data(), 0x3c, array.bytes());
  return array;
}

DeviceArray random_numbers(std::int64_t count, const char* name) {
  static const std::vector<std::uint16_t> pattern = [] {
    std::vector<std::uint16_t> bits(std::size_t{1} << 22);
    std::mt19937 random(7);
    for (std::uint16_t& element : bits) {
      const float value = static_cast<float>(random()) * 0x1p-31f - 1.0f;
      element = static_cast<std::uint16_t>(bits_of(value) >> 16);
    }
    return bits;
  }();
  const std::size_t size = static_cast<std::size_t>(count);
  DeviceArray array(cuda_device(), size * sizeof(std::uint16_t), name);
  for (std::size_t first = 0; first < size; first += pattern.size()) {
    const std::size_t part = std::min(pattern.size(), size - first);
    cuda_device()->copy_to_device(array.as<std::uint16_t>() + first, pattern.data(),
                                  part * sizeof(std::uint16_t));
  }
  return array;
}

double copy_bandwidth() {
  constexpr std::int64_t kBytes = std::int64_t{1} << 30;
  static const double bandwidth = [] {
    const DeviceArray from = numbers(kBytes, "from");
    const DeviceArray to = numbers(kBytes, "to");
    EventTimer timer;
    double best = 1e9;
    for (int round = 0; round < 10; ++round) {
      best = std::min(best, timer.seconds_of([&] {
        cudaMemcpyAsync(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice);
      }));
    }
    return 2.0 * kBytes / best;
  }();
  return bandwidth;
}

double read_bandwidth() {
  constexpr std::int64_t kBytes = std::int64_t{1} << 32;
  static const double bandwidth = [] {
    const DeviceArray values = numbers(kBytes, "values");
    const DeviceArray partial_sums = numbers(kMaxPartialSums * 4, "partial_sums");
    const DeviceArray total = numbers(4, "total");
    BlockReduceParams params;
    params.values = values.as<float>();
    params.count = kBytes / 4;
    params.partial_sums = partial_sums.as<float>();
    params.total = total.as<float>();
    params.threads_per_cta = 256;
    const Rung<BlockReduceParams> rung = kernels_of(*cuda_device()).block_reduce[1];
    rung.launch(params);  // the first launch loads the kernel
    EventTimer timer;
    double best = 1e9;
    for (int round = 0; round < 10; ++round) {
      best = std::min(best, timer.seconds_of([&] { rung.launch(params); }));
    }
    return kBytes / best;
  }();
  return bandwidth;
}

}  // namespace pagelab::bench
