// The traps U1 and U3 to U6 with recorded launches: every kernel that FLASH_ATTN takes for decodes and for mixed
// batches, in a graph that is replayed for other lengths and for fewer requests than it was recorded for.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/contract/error.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/graphs/graph_runs.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

// A graph of three decodes and what it reads.
class ThreeDecodes {
 public:
  // Values number the positions of each request, and keys are 0.
  ThreeDecodes(const std::shared_ptr<Device>& device, DType dtype, bool batch_invariant)
      : sizes_(small_sizes(dtype)) {
    KvCache cache(sizes_.cache);
    Tensor keys(DType::kFloat32, {sizes_.cache.num_blocks, 16, 2, 32});
    Tensor values(DType::kFloat32, keys.shape());
    const std::vector<StepRequest> requests = requests_of({63, 63, 63}, {1, 1, 1});
    for (const StepRequest& request : requests) {
      for (std::int64_t position = 0; position < 64; ++position) {
        const std::int64_t slot = request.block_ids[position / 16] * 16 + position % 16;
        std::fill_n(values.data<float>() + slot * 64, 64, static_cast<float>(position));
      }
    }
    cache.assign(convert(keys, dtype), convert(values, dtype));
    layers_ = std::make_unique<LayerStack>(
        device, sizes_,
        std::vector<std::shared_ptr<DeviceKvCache>>{std::make_shared<DeviceKvCache>(device, cache)},
        LayerStackOptions{.flash_attn = {.batch_invariant = batch_invariant}});
    layers_->set_shape(layers_->shape_of_graph(3, 3, 1));
    graph_ = device->capture([this] { run_eagerly(layers_->parts()); });
  }

  // The first element of each row, for sequences of these lengths; nothing is stored, and queries are 0.
  std::vector<float> means(const std::vector<std::int64_t>& seq_lens) {
    std::vector<std::int64_t> computed;
    for (const std::int64_t seq_len : seq_lens) computed.push_back(seq_len - 1);
    BuiltStep step =
        build_step(requests_of(computed, {1, 1, 1}), {.block_size = 16, .max_blocks_per_req = 4});
    std::fill(step.metadata.slot_mapping.begin(), step.metadata.slot_mapping.end(), kNoSlot);
    layers_->batch().update(step.metadata);
    layers_->batch().update_inputs(Tensor(sizes_.query_dtype, {3, 4, 32}),
                                   Tensor(sizes_.query_dtype, {3, 2, 32}),
                                   Tensor(sizes_.query_dtype, {3, 2, 32}));
    graph_->replay();
    const Tensor output = layers_->output(0, 3);
    const float* element = output.data<float>();
    return {element[0], element[128], element[256]};
  }

 private:
  PersistentBatchSizes sizes_;
  std::unique_ptr<LayerStack> layers_;
  std::unique_ptr<Graph> graph_;
};

void check_lengths(const std::shared_ptr<Device>& device) {
  CAPTURE(device->name());
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    for (const bool batch_invariant : {false, true}) {
      CAPTURE(to_string(dtype));
      CAPTURE(batch_invariant);
      ThreeDecodes graph(device, dtype, batch_invariant);
      const auto check = [&](const std::vector<std::int64_t>& seq_lens,
                             const std::vector<double>& expected) {
        const std::vector<float> got = graph.means(seq_lens);
        for (int row = 0; row < 3; ++row)
          CHECK(got[row] == doctest::Approx(expected[row]).epsilon(1e-5));
      };
      // The mean of 0 … n − 1 is (n − 1) / 2. U1's lengths, then U3's: longer than those of the replay before it.
      check({64, 1, 1}, {31.5, 0.0, 0.0});
      check({64, 50, 40}, {31.5, 24.5, 19.5});
      check({32, 32, 32}, {15.5, 15.5, 15.5});
      check({48, 48, 48}, {23.5, 23.5, 23.5});
    }
  }
}

// A graph for so many rows, replayed for fewer, whose other rows and workspace hold NaN. The checked simulator's workspace
// was never written: to read it is an error.
void check_padding(const std::shared_ptr<Device>& device,
                   const PersistentBatchSizes& sizes,
                   const std::vector<std::int64_t>& scheduled,
                   std::int64_t num_padded) {
  CAPTURE(device->name());
  const DType dtype = sizes.query_dtype;
  CAPTURE(to_string(dtype));
  const auto num_reqs = static_cast<std::int64_t>(scheduled.size());
  std::vector<std::int64_t> computed(scheduled.size(), 0);
  std::int64_t num_tokens = 0;
  std::int64_t longest = 0;
  for (const std::int64_t count : scheduled) {
    num_tokens += count;
    longest = std::max(longest, count);
  }
  const StepLayout layout = {.block_size = 16, .max_blocks_per_req = 4};
  const auto requests = requests_of(computed, scheduled);

  const auto run = [&](LayerStack& layers, const BuiltStep& step, std::int64_t rows,
                       bool by_graph) {
    const StepInputs inputs = step_inputs(num_tokens, rows, dtype, 7, sizes.num_query_heads);
    if (device->kind() != DeviceKind::kCheckedSimulator) layers.fill_workspace(0xff);  // NaN
    layers.fill_outputs(0xff);
    layers.batch().update(step.metadata);
    layers.batch().update_inputs(inputs.query, inputs.key, inputs.value);
    if (!by_graph) {
      layers.set_shape(launch_shape_of(step.metadata));
      return run_eagerly(layers.parts());
    }
    layers.set_shape(layers.shape_of_graph(num_padded, longest == 1 ? num_padded : 8, longest));
    device->capture([&] { run_eagerly(layers.parts()); })->replay();
  };
  LayerStack alone = small_stack(device, sizes, 1, {});
  run(alone, build_step(requests, layout), num_tokens, false);
  LayerStack padded = small_stack(device, sizes, 1, {});
  const PaddedShape padding = {num_padded, longest == 1 ? num_padded : 8};
  run(padded, build_step(requests, layout, padding), num_padded, true);

  CHECK(num_reqs < padding.num_reqs);
  const Tensor output = padded.output(0, num_padded);
  check_identical("rows of requests", first_rows(output, num_tokens), alone.output(0, num_tokens));
  for (std::int64_t i = num_tokens * sizes.num_query_heads * 32; i < output.size(); ++i) {
    REQUIRE(output.data<float>()[i] == 0.0f);
  }
  const Tensor lse = padded.lse(0, num_padded);
  for (std::int64_t row = num_tokens; row < num_padded; ++row) {
    CHECK(lse.data<float>()[row] == -std::numeric_limits<float>::infinity());
  }
  check_identical("keys", padded.cache(0).keys(), alone.cache(0).keys());
  check_identical("values", padded.cache(0).values(), alone.cache(0).values());
}

void check_all_padding(const std::shared_ptr<Device>& device) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    check_padding(device, small_sizes(dtype), {1, 1, 1}, 4);
    check_padding(device, small_sizes(dtype), {1, 5, 1, 3}, 16);
    check_padding(device, small_sizes(dtype, 4, 16), {1, 1}, 8);  // 16 query heads, as in U6
  }
}

// What lets U3 happen: a graph that was recorded with its own step's longest sequence.
float mean_after_short_recording(const std::shared_ptr<Device>& device, std::int64_t max_seq_len) {
  constexpr std::int64_t kSeqLen = 600;
  const PersistentBatchSizes sizes = small_sizes(DType::kFloat32, 40);
  KvCache cache(sizes.cache);
  const Tensor zeros(DType::kFloat32, {sizes.cache.num_blocks, 16, 2, 32});
  Tensor ones(DType::kFloat32, zeros.shape());
  std::fill_n(ones.data<float>(), ones.size(), 1.0f);
  cache.assign(zeros, ones);
  LayerStack layers(device, sizes, {std::make_shared<DeviceKvCache>(device, cache)}, {});
  layers.set_shape({1, 1, 1, max_seq_len});
  const auto graph = device->capture([&] { run_eagerly(layers.parts()); });

  StepRequest request = {{.num_scheduled_tokens = 1, .num_computed_tokens = kSeqLen - 1}, {}};
  for (std::int32_t block = 1; block <= 38; ++block) request.block_ids.push_back(block);
  BuiltStep step = build_step({request}, {.block_size = 16, .max_blocks_per_req = 40});
  step.metadata.slot_mapping = {kNoSlot};
  layers.batch().update(step.metadata);
  layers.batch().update_inputs(Tensor(DType::kFloat32, {1, 4, 32}),
                               Tensor(DType::kFloat32, {1, 2, 32}),
                               Tensor(DType::kFloat32, {1, 2, 32}));
  graph->replay();
  return layers.output(0, 1).data<float>()[0];
}

}  // namespace

TEST_SUITE("traps of recorded steps") {
  TEST_CASE("U1 U3: a graph sees the lengths of each replay (simulators)") {
    for (const auto& device : simulators()) check_lengths(device);
  }
  TEST_CASE("U1 U3: a graph sees the lengths of each replay (GPU)") {
    if (const auto device = gpu_or_skip()) check_lengths(device);
  }

  TEST_CASE(
      "U3: a graph recorded for sequences too short says NaN and never a wrong number "
      "(simulator)") {
    CHECK(std::isnan(mean_after_short_recording(simulator_device(), 512)));
    CHECK(mean_after_short_recording(simulator_device(), 640) == doctest::Approx(1.0));
  }
  TEST_CASE(
      "U3: a graph recorded for sequences too short says NaN and never a wrong number (GPU)") {
    const auto device = gpu_or_skip();
    if (device == nullptr) return;
    CHECK(std::isnan(mean_after_short_recording(device, 512)));
    CHECK(mean_after_short_recording(device, 640) == doctest::Approx(1.0));
  }

  TEST_CASE(
      "U4 U5 U6: rows and thread blocks too many change nothing and read no workspace "
      "(simulators)") {
    for (const auto& device : simulators()) check_all_padding(device);
  }
  TEST_CASE(
      "U4 U5 U6: rows and thread blocks too many change nothing and read no workspace (GPU)") {
    if (const auto device = gpu_or_skip()) check_all_padding(device);
  }
}
