#include "tests/gpu/exact_math_hashes.h"

#include <fmt/format.h>

#include <numeric>

#include "gpu/runtime/device_array.h"
#include "tests/reference/numerics/golden_hashes.h"

namespace pagelab::test {
namespace {

ExactMathHash hash_kernel_of(const Device& device) {
  switch (device.kind()) {
#if defined(PAGELAB_HAS_CUDA)
    case DeviceKind::kCuda:
      return on_cuda::exact_math_hash;
#endif
#if defined(PAGELAB_HAS_CHECKED_KERNELS)
    case DeviceKind::kCheckedSimulator:
      return on_checked_simulator::exact_math_hash;
#endif
    default:
      return on_simulator::exact_math_hash;
  }
}

}  // namespace

std::uint64_t hash_of_results(const std::shared_ptr<Device>& device,
                              ExactFunctionId function,
                              std::uint64_t stride,
                              std::int64_t num_threads) {
  std::vector<std::uint64_t> partial_hashes(static_cast<std::size_t>(num_threads));
  const DeviceArray array(device, partial_hashes.size() * sizeof(std::uint64_t), "partial_hashes");
  ExactMathHashParams params;
  params.function = function;
  params.stride = stride;
  params.num_threads = num_threads;
  params.partial_hashes = array.as<std::uint64_t>();
  hash_kernel_of (*device)(params);
  array.copy_to(partial_hashes.data());
  return std::accumulate(partial_hashes.begin(), partial_hashes.end(), std::uint64_t{0});
}

std::vector<std::string> ex2_golden_lines(const std::shared_ptr<Device>& device) {
  constexpr std::int64_t kThreads = 1 << 20;
  const ExactFunctionId function = ExactFunctionId::kEx2Approx;
  return {fmt::format("ex2_approx {:#018x} {:#018x}",
                      hash_of_results(device, function, kSampleStride, kThreads),
                      hash_of_results(device, function, 1, kThreads))};
}

}  // namespace pagelab::test
