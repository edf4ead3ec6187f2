#include "benchmarks/gpu/timing.h"

#include <algorithm>

#include "gpu/backends/kernels_of.h"

namespace pagelab::bench {

DeviceArray numbers(std::int64_t bytes, const char* name) {
  DeviceArray array(cuda_device(), static_cast<std::size_t>(bytes), name);
  cuda_device()->fill(array.data(), 0x3c, array.bytes());
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
