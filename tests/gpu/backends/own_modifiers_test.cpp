// A user's own modifiers, compiled with the kernel of FLEX_ATTENTION: each against a step of the contract that
// says the same in other words.

#include <doctest/doctest.h>

#include <algorithm>

#include "gpu/backends/flex_attention.h"
#include "gpu/runtime/device_array.h"
#include "reference/numerics/float_formats.h"
#include "tests/gpu/attention_checks.h"
#include "tests/gpu/backends/own_modifiers.h"
#include "tests/gpu/devices.h"
#include "tests/support/random_step.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

OwnModifiers own_modifiers_of(const Device& device) {
  switch (device.kind()) {
#if defined(PAGELAB_HAS_CUDA)
    case DeviceKind::kCuda:
      return on_cuda::own_modifiers();
#endif
#if defined(PAGELAB_HAS_CHECKED_KERNELS)
    case DeviceKind::kCheckedSimulator:
      return on_checked_simulator::own_modifiers();
#endif
    default:
      return on_simulator::own_modifiers();
  }
}

// Three documents in one sequence, in blocks of which two hold the ends of two documents, and the same documents
// as three requests.
void check_documents(const std::shared_ptr<Device>& device) {
  RandomStepOptions options;
  options.block_size = 4;
  options.requests = {{30, 30}};
  const AttentionStep packed = random_step(options, 61);
  options.requests = {{7, 7}, {12, 12}, {11, 11}};
  AttentionStep apart = random_step(options, 62);
  apart.query = packed.query;
  apart.key = packed.key;
  apart.value = packed.value;

  std::vector<std::int32_t> document_of(7, 0);
  document_of.insert(document_of.end(), 12, 1);
  document_of.insert(document_of.end(), 11, 2);
  const DeviceArray on_device = DeviceArray::copy_of(device, document_of, "document_of");
  const auto modifiers_of = [&](const HostBatch&) {
    FlexModifiers modifiers;
    modifiers.mask_mod = SameDocument{document_of.data()};
    modifiers.launch = [&](const FlexAttentionParams& attention) {
      own_modifiers_of(*device).same_document(attention, on_device.as<std::int32_t>());
    };
    return modifiers;
  };
  const auto backend = make_flex_attention_backend(device);
  const AttentionResult expected = attend(apart, *backend);
  check_within_bound(apart, expected, *backend);
  check_same_bits(attend(packed, *make_flex_attention_backend(device, modifiers_of)), expected);
}

// A table of biases that is ALiBi's.
void check_relative_bias(const std::shared_ptr<Device>& device) {
  RandomStepOptions options;
  options.requests = {{9, 21}, {1, 33}, {5, 5}};
  options.alibi = true;
  const AttentionStep alibi = random_step(options, 63);
  AttentionStep plain = alibi;
  plain.variant.alibi_slopes.clear();

  constexpr std::int64_t kNumDistances = 33;
  std::vector<float> bias;
  for (const float slope : alibi.variant.alibi_slopes) {
    for (std::int64_t distance = 0; distance < kNumDistances; ++distance) {
      bias.push_back(-slope * static_cast<float>(distance));
    }
  }
  const DeviceArray on_device = DeviceArray::copy_of(device, bias, "bias");
  const auto modifiers_of = [&](const HostBatch&) {
    FlexModifiers modifiers;
    modifiers.launch = [&](const FlexAttentionParams& attention) {
      own_modifiers_of(*device).relative_bias(attention, on_device.as<float>(), kNumDistances);
    };
    return modifiers;
  };
  const AttentionResult got = attend(plain, *make_flex_attention_backend(device, modifiers_of));
  check_within_bound(alibi, got, *make_flex_attention_backend(device));
}

// Windows of odd heads alone: a block that no odd head sees is listed all the same.
void check_local_heads(const std::shared_ptr<Device>& device) {
  RandomStepOptions options;
  options.requests = {{3, 29}, {1, 18}};
  const AttentionStep step = random_step(options, 64);
  AttentionStep windowed = step;
  windowed.variant.visibility.window_left = static_cast<std::int32_t>(kLocalDistance) - 1;
  const auto modifiers_of = [&](const HostBatch&) {
    FlexModifiers modifiers;
    modifiers.mask_mod = LocalHeads{};
    modifiers.launch = own_modifiers_of(*device).local_heads;
    return modifiers;
  };
  const AttentionResult got = attend(step, *make_flex_attention_backend(device, modifiers_of));
  const AttentionResult of_even = attend(step, *make_flex_attention_backend(device));
  const AttentionResult of_odd = attend(windowed, *make_flex_attention_backend(device));
  const std::int64_t head_size_v = step.head_size_v();
  for (std::int64_t index = 0; index < got.output.size(); ++index) {
    const bool is_odd = index / head_size_v % step.num_query_heads() % 2 == 1;
    const AttentionResult& expected = is_odd ? of_odd : of_even;
    CHECK(bits_of(got.output.data<float>()[index]) ==
          bits_of(expected.output.data<float>()[index]));
  }
}

void check_own_modifiers(const std::shared_ptr<Device>& device) {
  check_documents(device);
  check_relative_bias(device);
  check_local_heads(device);
}

}  // namespace

TEST_SUITE("own modifiers") {
  TEST_CASE(
      "documents and biases and local heads do what the contract says in other words "
      "(simulators)") {
    for (const auto& device : simulators()) check_own_modifiers(device);
  }
  TEST_CASE("documents and biases and local heads do what the contract says in other words (GPU)") {
    if (const auto device = gpu_or_skip()) check_own_modifiers(device);
  }

  TEST_CASE("modifiers without a launcher are refused") {
    const auto modifiers_of = [](const HostBatch&) {
      FlexModifiers modifiers;
      modifiers.mask_mod = LocalHeads{};
      return modifiers;
    };
    CHECK_THROWS_WITH_AS(
        attend(random_step({}, 65), *make_flex_attention_backend(simulator_device(), modifiers_of)),
        "FLEX_ATTENTION got modifiers without a launcher: launch is empty, but it must launch the "
        "kernel that was compiled with them.",
        Error);
  }
}
