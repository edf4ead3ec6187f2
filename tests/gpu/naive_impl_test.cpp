// NAIVE as a layer over several steps, and what it refuses.

#include <doctest/doctest.h>

#include "gpu/backends/kernels_of.h"
#include "gpu/backends/naive.h"
#include "gpu/runtime/device_array.h"
#include "reference/registry/reference_backends.h"
#include "tests/gpu/devices.h"
#include "tests/support/random_step.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

// Two steps of one layer: a prefill, and a decode step that reads what the prefill stored.
void check_two_steps(const std::shared_ptr<Device>& device) {
  CAPTURE(device->name());
  RandomStepOptions options;
  options.requests = {{7, 7}, {5, 5}};
  options.block_size = 3;
  const AttentionStep prefill = random_step(options, 41);
  const AttentionStep other = random_step(options, 42);
  const auto first_two_rows = [](const Tensor& array) {
    Tensor rows(array.dtype(), {2, array.shape()[1], array.shape()[2]});
    std::copy_n(array.bytes(), rows.size_in_bytes(), rows.bytes());
    return rows;
  };
  AttentionStep decode = prefill;
  decode.metadata.seq_lens = {8, 6};
  decode.metadata.query_start_loc = {0, 1, 2};
  decode.metadata.slot_mapping = {slot_of(prefill.metadata.block_table.row(0), 7, 3),
                                  slot_of(prefill.metadata.block_table.row(1), 5, 3)};
  decode.query = first_two_rows(other.query);
  decode.key = first_two_rows(other.key);
  decode.value = first_two_rows(other.value);

  const auto reference = make_reference_float_backend()->make_impl(prefill.cache);
  const auto naive = make_naive_backend(device)->make_impl(prefill.cache);
  for (const AttentionStep& step : {prefill, decode}) {
    Tensor expected_output, expected_lse, output, lse;
    reference->do_kv_cache_update(step.key, step.value, step.metadata.slot_mapping);
    reference->forward(step.query, step.key, step.value, step.metadata, step.variant,
                       expected_output, expected_lse);
    naive->do_kv_cache_update(step.key, step.value, step.metadata.slot_mapping);
    naive->forward(step.query, step.key, step.value, step.metadata, step.variant, output, lse);
    check_identical("output", output, expected_output);
    check_identical("lse", lse, expected_lse);
  }
  check_identical("cache", naive->kv_cache().keys(), reference->kv_cache().keys());
}

}  // namespace

TEST_SUITE("naive layer") {
  TEST_CASE("a layer's cache stays on the device from step to step (simulators)") {
    for (const auto& device : simulators()) check_two_steps(device);
  }
  TEST_CASE("a layer's cache stays on the device from step to step (GPU)") {
    if (const auto device = gpu_or_skip()) check_two_steps(device);
  }

  TEST_CASE("NAIVE names itself and its target and promises the canonical float precision") {
    const auto backend = make_naive_backend(simulator_device());
    CHECK(backend->name() == "NAIVE");
    CHECK(backend->target() == "simulator");
  }

  TEST_CASE("an inconsistent step reaches no kernel") {
    const AttentionStep step = random_step({}, 43);
    const auto impl = make_naive_backend(simulator_device())->make_impl(step.cache);
    Tensor output, lse;
    const auto forward = [&](const AttentionStep& bad) {
      impl->forward(bad.query, bad.key, bad.value, bad.metadata, bad.variant, output, lse);
    };
    AttentionStep bad = step;
    bad.metadata.block_table.entries[0] = 4711;
    CHECK_THROWS_AS(forward(bad), Error);
    bad = step;
    bad.query = Tensor(DType::kFloat32, {step.num_tokens(), 5, step.head_size()});
    CHECK_THROWS_AS(forward(bad), Error);
    bad = step;
    bad.variant.scale = -1.0;
    CHECK_THROWS_AS(forward(bad), Error);
    CHECK_THROWS_AS(impl->do_kv_cache_update(step.key, step.value, {1, 2}), Error);
    KvCache wrong_scales = step.cache;
    wrong_scales.k_scale = {1.0f, 1.0f, 1.0f};
    CHECK_THROWS_AS(make_naive_backend(simulator_device())->make_impl(wrong_scales), Error);
    CHECK_NOTHROW(forward(step));
  }
}
