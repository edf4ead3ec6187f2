// exact_math.h on every target: hashes of results against the golden table, whose hashes the CPU made
// and whose errors are measured in tests/reference/numerics; and ex2_approx, whose hashes an H200 made.

#include <doctest/doctest.h>

#include "tests/gpu/devices.h"
#include "tests/gpu/exact_math_hashes.h"
#include "tests/reference/numerics/golden_hashes.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

struct NamedFunction {
  const char* name;
  ExactFunctionId id;
};
constexpr NamedFunction kFunctions[] = {{"exact_exp2", ExactFunctionId::kExp2},
                                        {"exact_log2", ExactFunctionId::kLog2},
                                        {"exact_log", ExactFunctionId::kLog},
                                        {"exact_tanh", ExactFunctionId::kTanh},
                                        {"ex2_approx", ExactFunctionId::kEx2Approx}};

void check_sample(const std::shared_ptr<Device>& device) {
  CAPTURE(device->name());
  for (const NamedFunction& function : kFunctions) {
    CAPTURE(function.name);
    const std::uint64_t hash = hash_of_results(device, function.id, kSampleStride, 1000);
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
      CHECK(hash_of_results(device, function.id, 1, kThreads) ==
            read_golden_hashes().at(function.name).all_floats);
    }
  }
}
