// exact_math.h on every target: hashes of results against the golden table, whose hashes the CPU made
// and whose errors are measured in tests/reference/numerics.

#include <doctest/doctest.h>

#include <numeric>

#include "gpu/runtime/device_array.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/kernels/exact_math_hash.h"
#include "tests/reference/numerics/golden_hashes.h"

using namespace pagelab;
using namespace pagelab::test;

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

std::uint64_t hash_on(const std::shared_ptr<Device>& device,
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

struct NamedFunction {
  const char* name;
  ExactFunctionId id;
};
constexpr NamedFunction kFunctions[] = {{"exact_exp2", ExactFunctionId::kExp2},
                                        {"exact_log2", ExactFunctionId::kLog2},
                                        {"exact_log", ExactFunctionId::kLog},
                                        {"exact_tanh", ExactFunctionId::kTanh}};

void check_sample(const std::shared_ptr<Device>& device) {
  CAPTURE(device->name());
  for (const NamedFunction& function : kFunctions) {
    CAPTURE(function.name);
    const std::uint64_t hash = hash_on(device, function.id, kSampleStride, 1000);
    CHECK(hash == read_golden_hashes().at(function.name).sampled);
  }
}

}  // namespace

TEST_SUITE("exact math on devices") {
  TEST_CASE("a sample of floats gives the golden hash in the simulators") {
    for (const auto& device : simulators()) check_sample(device);
  }
  TEST_CASE("a sample of floats gives the golden hash on the GPU") {
    if (const auto device = gpu_or_skip()) check_sample(device);
  }

  TEST_CASE("all 2^32 floats give the golden hash on the GPU") {
    const auto device = gpu_or_skip();
    if (device == nullptr) return;
    for (const NamedFunction& function : kFunctions) {
      CAPTURE(function.name);
      constexpr std::int64_t kThreads = 1 << 20;
      CHECK(hash_on(device, function.id, 1, kThreads) ==
            read_golden_hashes().at(function.name).all_floats);
    }
  }
}
