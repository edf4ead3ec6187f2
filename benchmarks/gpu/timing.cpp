#include "benchmarks/gpu/timing.h"

#include <algorithm>

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

}  // namespace pagelab::bench
