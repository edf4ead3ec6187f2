// The merge_states kernel: the bits of the reference in float, and the neutral element whatever it holds.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "gpu/backends/kernels_of.h"
#include "reference/attention/merge_states.h"
#include "reference/contract/error.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/merged_states.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

void check_against_reference(const std::shared_ptr<Device>& device) {
  std::uint64_t seed = 1;
  for (const Shape& shape : {Shape{7, 3, 5}, Shape{1, 1, 1}, Shape{4, 5, 129}, Shape{0, 2, 8}}) {
    for (int round = 0; round < 3; ++round) {
      CAPTURE(seed);
      const AttentionStates prefix = random_states(shape, seed++);
      const AttentionStates suffix = random_states(shape, seed++);
      const AttentionStates expected = merge_states(prefix, suffix);
      const AttentionStates got = merge_on(device, prefix, suffix);
      check_identical("output", got.output, expected.output);
      check_identical("lse", got.lse, expected.lse);
      const AttentionStates swapped = merge_on(device, suffix, prefix);
      check_identical("output of swapped sides", swapped.output, expected.output);
    }
  }
}

AttentionStates one_state(float output, float lse) {
  AttentionStates states;
  states.output = Tensor(DType::kFloat32, {1, 1, 1});
  states.lse = Tensor(DType::kFloat32, {1, 1});
  states.output.data<float>()[0] = output;
  states.lse.data<float>()[0] = lse;
  return states;
}

// Worked out by hand: keys with scores ln 1 and ln 3 and values 4 and 8 have mean 7 and LSE ln 4.
void check_by_hand(const std::shared_ptr<Device>& device) {
  const AttentionStates light = one_state(4.0f, 0.0f);
  const AttentionStates heavy = one_state(8.0f, std::log(3.0f));
  const AttentionStates both = merge_on(device, light, heavy);
  CHECK(std::abs(both.output.data<float>()[0] - 7.0f) < 1e-6f);
  CHECK(std::abs(both.lse.data<float>()[0] - std::log(4.0f)) < 1e-6f);
  for (const float empty_lse : {-kInfinity, kInfinity}) {
    const AttentionStates empty = one_state(NAN, empty_lse);
    const AttentionStates alone = merge_on(device, empty, heavy);
    CHECK(alone.output.data<float>()[0] == 8.0f);
    CHECK(alone.lse.data<float>()[0] == std::log(3.0f));
    const AttentionStates none = merge_on(device, empty, empty);
    CHECK(none.output.data<float>()[0] == 0.0f);
    CHECK(none.lse.data<float>()[0] == -kInfinity);
  }
}

}  // namespace

TEST_SUITE("merge_states on a device") {
  TEST_CASE("the kernel has the bits of the reference in float (simulators)") {
    for (const auto& device : simulators()) check_against_reference(device);
  }
  TEST_CASE("the kernel has the bits of the reference in float (GPU)") {
    if (const auto device = gpu_or_skip()) check_against_reference(device);
  }

  TEST_CASE("an empty side leaves the other unchanged and two empty ones give zero (simulators)") {
    for (const auto& device : simulators()) check_by_hand(device);
  }
  TEST_CASE("an empty side leaves the other unchanged and two empty ones give zero (GPU)") {
    if (const auto device = gpu_or_skip()) check_by_hand(device);
  }

  TEST_CASE("an array that is missing is named before the launch") {
    MergeStatesParams params;
    params.num_tokens = 2;
    params.num_query_heads = 3;
    params.head_size_v = 4;
    CHECK_THROWS_WITH_AS(
        kernels_of(*simulator_device()).merge_states.launch(params),
        "merge_states/1_naive: prefix_output is a null pointer, but the kernel uses 24 elements of "
        "it. Was the array allocated on the device?",
        Error);
    params.head_size_v = 0;
    CHECK_THROWS_AS(kernels_of(*simulator_device()).merge_states.launch(params), Error);
  }
}
