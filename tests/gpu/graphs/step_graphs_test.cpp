// Steps of the engine, run kernel by kernel, by pieces and as a whole: the same bits. And what StepGraphs refuses.

#include <doctest/doctest.h>

#include <string>

#include "gpu/backends/catalog.h"
#include "reference/contract/error.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/graphs/graph_runs.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

void check_same(const ServedResults& got, const ServedResults& expected) {
  REQUIRE(got.outputs.size() == expected.outputs.size());
  for (std::size_t i = 0; i < got.outputs.size(); ++i) {
    CAPTURE(i);
    check_identical("output", got.outputs[i], expected.outputs[i]);
  }
  for (std::size_t layer = 0; layer < got.caches.size(); ++layer) {
    check_identical("keys", got.caches[layer].keys(), expected.caches[layer].keys());
    check_identical("values", got.caches[layer].values(), expected.caches[layer].values());
  }
}

std::string modes_of(const ServedResults& results) {
  std::string modes;
  for (const CudagraphDispatch& dispatch : results.dispatch) {
    modes += (modes.empty() ? "" : " ") + to_string(dispatch.mode) + "/" +
             std::to_string(dispatch.descriptor.num_tokens);
  }
  return modes;
}

void check_modes(const std::shared_ptr<Device>& device, DType dtype) {
  CAPTURE(device->name());
  CAPTURE(to_string(dtype));
  const LayerStackOptions by_vllms_rule = {.launches_between = 2};
  const ServedResults eager = serve(device, CUDAGraphMode::kNone, dtype, by_vllms_rule);
  CHECK(modes_of(eager) == "NONE/14 NONE/14 NONE/3 NONE/10 NONE/4 NONE/7");
  const ServedResults piecewise = serve(device, CUDAGraphMode::kPiecewise, dtype, by_vllms_rule);
  CHECK(modes_of(piecewise) ==
        "PIECEWISE/16 PIECEWISE/16 PIECEWISE/4 PIECEWISE/16 PIECEWISE/4 PIECEWISE/8");
  check_same(piecewise, eager);
  const ServedResults both = serve(device, CUDAGraphMode::kFullAndPiecewise, dtype, by_vllms_rule);
  CHECK(modes_of(both) == "PIECEWISE/16 PIECEWISE/16 FULL/4 PIECEWISE/16 FULL/4 PIECEWISE/8");
  check_same(both, eager);

  // One graph for decodes and mixed batches: the same kernel for both, so that bits do not depend on the batch.
  const LayerStackOptions invariant = {.launches_between = 2, .flash_attn = {}};
  const ServedResults full = serve(device, CUDAGraphMode::kFull, dtype, invariant);
  CHECK(modes_of(full) == "FULL/16 FULL/16 FULL/4 FULL/16 FULL/4 FULL/8");
  check_same(full, serve(device, CUDAGraphMode::kNone, dtype, invariant));
}

// The same steps through the backend, which makes its arrays anew in each.
void check_against_backend(const std::shared_ptr<Device>& device, DType dtype) {
  CAPTURE(device->name());
  const ServedResults served = serve(device, CUDAGraphMode::kFullAndPiecewise, dtype, {});
  const auto impl = make_flash_attn_backend(device, {.batch_invariant = false})
                        ->make_impl(KvCache(small_sizes(dtype).cache));
  std::uint64_t seed = 0;
  for (const ServedStep& step : served_steps()) {
    const BuiltStep built =
        build_step(requests_of(step.computed, step.scheduled), {.block_size = 16});
    const std::int64_t num_tokens = built.metadata.num_actual_tokens();
    const StepInputs inputs = step_inputs(num_tokens, num_tokens, dtype, ++seed);
    AttentionVariant variant;
    variant.scale = 0.17f;
    Tensor output;
    Tensor lse;
    impl->do_kv_cache_update(inputs.key, inputs.value, built.metadata.slot_mapping);
    impl->forward(inputs.query, inputs.key, inputs.value, built.metadata, variant, output, lse);
    CAPTURE(seed);
    check_identical("output", served.outputs[2 * (seed - 1)], output);
  }
  check_identical("keys", served.caches[0].keys(), impl->kv_cache().keys());
}

// A stack of two layers, recorded for four decodes.
struct FourDecodes {
  explicit FourDecodes(const std::shared_ptr<Device>& device)
      : layers(small_stack(device, small_sizes(DType::kBFloat16), 2, {.launches_between = 2})),
        graphs(device) {
    layers.set_shape(layers.shape_of_graph(4, 4, 1));
  }
  static CudagraphDispatch as(CUDAGraphMode mode) {
    return {mode, {.num_tokens = 4, .num_reqs = 4, .uniform = true}};
  }

  LayerStack layers;
  StepGraphs graphs;
};

void check_lists(const std::shared_ptr<Device>& device) {
  CAPTURE(device->name());
  FourDecodes step(device);
  const CudagraphDispatch full = step.as(CUDAGraphMode::kFull);
  const CudagraphDispatch piecewise = step.as(CUDAGraphMode::kPiecewise);
  step.graphs.capture(full, step.layers.parts());
  step.graphs.capture(piecewise, step.layers.parts());

  const std::vector<std::string> one_layer = {
      "transpose/2_shared_tile (4, 1, 1) x (32, 8, 1)",  // 4 x 128 elements, and back
      "transpose/2_shared_tile (1, 4, 1) x (32, 8, 1)",
      "cache_write/1_naive (1, 1, 1) x (256, 1, 1)",  // 4 · 2 · 32 elements, a thread each
      "cache_write/1_naive (1, 1, 1) x (256, 1, 1)",
      "paged_decode/7_tensor_cores (8, 1, 1) x (128, 1, 1)",    // 4 tokens, 2 KV heads, a partition
      "paged_decode/7_tensor_cores (16, 1, 1) x (128, 1, 1)"};  // 4 tokens, 4 query heads
  std::vector<std::string> expected = one_layer;
  expected.insert(expected.end(), one_layer.begin(), one_layer.end());
  std::vector<std::string> got;
  for (const RecordedLaunch& launch : step.graphs.launches(full)) got.push_back(to_string(launch));
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == expected[i]);

  const StepGraphs::Counts of_full = step.graphs.counts(full);
  CHECK(of_full.graphs == 1);
  CHECK(of_full.recorded_launches == 12);
  CHECK(of_full.eager_parts == 0);
  const StepGraphs::Counts of_pieces = step.graphs.counts(piecewise);
  CHECK(of_pieces.graphs == 2);
  CHECK(of_pieces.recorded_launches == 4);
  CHECK(of_pieces.eager_parts == 2);
}

}  // namespace

TEST_SUITE("recorded steps") {
  TEST_CASE("a step has the same bits eagerly and piecewise and in full (simulator)") {
    check_modes(simulator_device(), DType::kBFloat16);
    check_modes(simulator_device(), DType::kFloat32);
  }
  TEST_CASE("a step has the same bits eagerly and piecewise and in full (GPU)") {
    const auto device = gpu_or_skip();
    if (device == nullptr) return;
    check_modes(device, DType::kBFloat16);
    check_modes(device, DType::kFloat32);
  }

  TEST_CASE("replayed steps have the bits of FLASH_ATTN (simulators)") {
    for (const auto& device : simulators()) check_against_backend(device, DType::kBFloat16);
  }
  TEST_CASE("replayed steps have the bits of FLASH_ATTN (GPU)") {
    if (const auto device = gpu_or_skip()) check_against_backend(device, DType::kBFloat16);
  }

  TEST_CASE(
      "a full graph holds every launch and pieces hold what lies between attentions (simulator)") {
    check_lists(simulator_device());
  }
  TEST_CASE("a full graph holds every launch and pieces hold what lies between attentions (GPU)") {
    if (const auto device = gpu_or_skip()) check_lists(device);
  }

  TEST_CASE("only what was recorded is replayed and nothing is recorded twice") {
    FourDecodes step(simulator_device());
    const CudagraphDispatch full = step.as(CUDAGraphMode::kFull);
    CHECK_THROWS_WITH_AS(step.graphs.replay(full),
                         "FULL of 4 tokens, 4 requests, uniform was not recorded, so it cannot be "
                         "replayed.",
                         Error);
    step.graphs.capture(full, step.layers.parts());
    CHECK_THROWS_WITH_AS(step.graphs.capture(full, step.layers.parts()),
                         "FULL of 4 tokens, 4 requests, uniform is recorded already.", Error);
    CHECK_THROWS_WITH_AS(
        step.graphs.capture(step.as(CUDAGraphMode::kNone), step.layers.parts()),
        "NONE cannot be recorded: a step runs as FULL or PIECEWISE, or without a graph.", Error);
  }

  TEST_CASE("a step that does not fit the persistent arrays is refused and nothing is written") {
    FourDecodes step(simulator_device());
    const StepLayout layout = {.block_size = 16, .max_blocks_per_req = 4};
    PersistentBatch& batch = step.layers.batch();
    CHECK_THROWS_WITH_AS(batch.update(build_step(requests_of({0}, {17}), layout).metadata),
                         "the step has 17 tokens, but the persistent arrays have room for 16.",
                         Error);
    CHECK_THROWS_WITH_AS(
        batch.update(build_step(requests_of({0}, {1}), layout, PaddedShape{9, 9}).metadata),
        "the step has 9 requests, but the persistent arrays have room for 8.", Error);
    CHECK_THROWS_WITH_AS(
        batch.update(build_step(requests_of({0}, {1}), {.block_size = 16, .max_blocks_per_req = 5})
                         .metadata),
        "the block table has 5 columns, but recorded launches read rows of 4.", Error);
    CHECK_THROWS_WITH_AS(LayerStack(simulator_device(), small_sizes(DType::kBFloat16), {}),
                         "a stack has 0 layers; it must have at least 1.", Error);
    PersistentBatchSizes sizes = small_sizes(DType::kBFloat16);
    sizes.max_num_tokens = 0;
    CHECK_THROWS_WITH_AS(PersistentBatch(simulator_device(), sizes),
                         "max_num_tokens is 0; it must be at least 1.", Error);
  }
}
