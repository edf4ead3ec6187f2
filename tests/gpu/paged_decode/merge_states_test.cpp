// The merge_states kernel: the bits of the reference in float, and the neutral element whatever it holds.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "gpu/backends/kernels_of.h"
#include "gpu/runtime/device_array.h"
#include "reference/attention/merge_states.h"
#include "reference/contract/error.h"
#include "tests/gpu/devices.h"
#include "tests/support/random_step.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

AttentionStates merge_on(const std::shared_ptr<Device>& device,
                         const AttentionStates& prefix,
                         const AttentionStates& suffix) {
  const Shape& shape = prefix.output.shape();
  const DeviceArray prefix_output = DeviceArray::copy_of(device, prefix.output, "prefix_output");
  const DeviceArray prefix_lse = DeviceArray::copy_of(device, prefix.lse, "prefix_lse");
  const DeviceArray suffix_output = DeviceArray::copy_of(device, suffix.output, "suffix_output");
  const DeviceArray suffix_lse = DeviceArray::copy_of(device, suffix.lse, "suffix_lse");
  const DeviceArray output(device, static_cast<std::size_t>(prefix.output.size_in_bytes()),
                           "output");
  const DeviceArray lse(device, static_cast<std::size_t>(prefix.lse.size_in_bytes()), "lse");
  MergeStatesParams params;
  params.prefix_output = prefix_output.as<float>();
  params.prefix_lse = prefix_lse.as<float>();
  params.suffix_output = suffix_output.as<float>();
  params.suffix_lse = suffix_lse.as<float>();
  params.num_tokens = shape[0];
  params.num_query_heads = shape[1];
  params.head_size_v = shape[2];
  params.output = output.as<float>();
  params.lse = lse.as<float>();
  kernels_of(*device).merge_states.launch(params);
  AttentionStates merged = prefix;
  output.copy_to(merged.output.bytes());
  lse.copy_to(merged.lse.bytes());
  return merged;
}

// Ordinary states, with an empty one, a NaN and an extreme LSE now and then; empty ones hold NaN.
AttentionStates random_states(const Shape& shape, std::uint64_t seed) {
  Random random(seed);
  AttentionStates states;
  states.output = Tensor(DType::kFloat32, shape);
  states.lse = Tensor(DType::kFloat32, {shape[1], shape[0]});
  const float special[] = {-kInfinity, kInfinity, NAN, -1e30f, 3e4f, 0.0f};
  for (std::int64_t index = 0; index < states.output.size(); ++index) {
    states.output.data<float>()[index] = static_cast<float>(random.real(-3.0, 3.0));
  }
  for (std::int64_t token = 0; token < shape[0]; ++token) {
    for (std::int64_t head = 0; head < shape[1]; ++head) {
      float& lse = states.lse.data<float>()[head * shape[0] + token];
      lse = static_cast<float>(random.real(-20.0, 20.0));
      if (random.whole(0, 2) == 0) lse = special[random.whole(0, 5)];
      if (!std::isinf(lse)) continue;
      float* row = states.output.data<float>() + (token * shape[1] + head) * shape[2];
      std::fill_n(row, shape[2], NAN);
    }
  }
  return states;
}

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
