#include "tests/gpu/graphs/graph_runs.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/support/random_step.h"

namespace pagelab::test {
namespace {

constexpr std::int64_t kBlocksPerRequest = 4;
constexpr std::size_t kNumLayers = 2;

// Every graph that the dispatcher knows, with the largest shape that its descriptor covers.
void capture_all(StepGraphs& graphs, const CudagraphDispatcher& dispatcher, LayerStack& layers) {
  for (const auto& [mode, descriptors] : dispatcher.get_capture_descs()) {
    for (const BatchDescriptor& descriptor : descriptors) {
      const std::int64_t num_tokens = descriptor.num_tokens;
      const std::int64_t num_reqs = descriptor.num_reqs.value_or(num_tokens);
      layers.set_shape(
          layers.shape_of_graph(num_tokens, num_reqs, descriptor.uniform ? 1 : num_tokens));
      graphs.capture({mode, descriptor}, layers.parts());
    }
  }
}

}  // namespace

PersistentBatchSizes small_sizes(DType dtype,
                                 std::int64_t max_blocks_per_req,
                                 std::int64_t num_query_heads) {
  return {.max_num_tokens = 16,
          .max_num_reqs = 8,
          .max_blocks_per_req = max_blocks_per_req,
          .num_query_heads = num_query_heads,
          .query_dtype = dtype,
          .cache = {.num_blocks = 1 + 8 * max_blocks_per_req,
                    .block_size = 16,
                    .num_kv_heads = 2,
                    .head_size = 32,
                    .head_size_v = 32,
                    .dtype = dtype},
          .scale = 0.17f};
}

LayerStack small_stack(const std::shared_ptr<Device>& device,
                       const PersistentBatchSizes& sizes,
                       std::size_t num_layers,
                       const LayerStackOptions& options) {
  std::vector<std::shared_ptr<DeviceKvCache>> caches;
  for (std::size_t layer = 0; layer < num_layers; ++layer) {
    caches.push_back(std::make_shared<DeviceKvCache>(device, KvCache(sizes.cache)));
  }
  return LayerStack(device, sizes, std::move(caches), options);
}

Tensor random_rows(std::int64_t num_rows,
                   std::int64_t num_padded,
                   std::int64_t num_heads,
                   std::int64_t head_size,
                   DType dtype,
                   std::uint64_t seed) {
  Random random(seed);
  Tensor rows(DType::kFloat32, {num_padded, num_heads, head_size});
  std::fill_n(rows.data<float>(), rows.size(), std::numeric_limits<float>::quiet_NaN());
  for (std::int64_t i = 0; i < num_rows * num_heads * head_size; ++i) {
    rows.data<float>()[i] = static_cast<float>(random.real(-1.5, 1.5));
  }
  return convert(rows, dtype);
}

StepInputs step_inputs(std::int64_t num_tokens,
                       std::int64_t num_padded,
                       DType dtype,
                       std::uint64_t seed,
                       std::int64_t num_query_heads) {
  return {random_rows(num_tokens, num_padded, num_query_heads, 32, dtype, 3 * seed),
          random_rows(num_tokens, num_padded, 2, 32, dtype, 3 * seed + 1),
          random_rows(num_tokens, num_padded, 2, 32, dtype, 3 * seed + 2)};
}

std::vector<StepRequest> requests_of(const std::vector<std::int64_t>& computed,
                                     const std::vector<std::int64_t>& scheduled) {
  std::vector<StepRequest> requests;
  for (std::size_t i = 0; i < computed.size(); ++i) {
    StepRequest request;
    request.scheduled = {.num_scheduled_tokens = scheduled[i],
                         .num_computed_tokens = computed[i],
                         .num_prompt_tokens = computed[i] + scheduled[i]};
    const auto first_block = static_cast<std::int32_t>(1 + i * kBlocksPerRequest);
    for (std::int32_t block = 0; block < kBlocksPerRequest; ++block) {
      request.block_ids.push_back(first_block + (3 * block + 1) % kBlocksPerRequest);
    }
    requests.push_back(request);
  }
  return requests;
}

std::vector<ServedStep> served_steps() {
  return {{{0, 0}, {5, 9}},
          {{5, 9, 0}, {1, 1, 12}},
          {{6, 10, 12}, {1, 1, 1}},
          {{7, 11, 13, 0}, {1, 1, 1, 7}},
          {{8, 12, 14, 7}, {1, 1, 1, 1}},
          {{9, 13, 15, 8, 0}, {1, 1, 1, 1, 3}}};
}

ServedResults serve(const std::shared_ptr<Device>& device,
                    CUDAGraphMode mode,
                    DType dtype,
                    const LayerStackOptions& options) {
  const CudagraphDispatcher dispatcher(
      {.mode = mode, .capture_sizes = {1, 2, 4, 8, 16}, .max_num_seqs = 8});
  LayerStack layers = small_stack(device, small_sizes(dtype), kNumLayers, options);
  const StepParts parts = layers.parts();
  StepGraphs graphs(device);
  capture_all(graphs, dispatcher, layers);

  ServedResults results;
  std::uint64_t seed = 0;
  for (const ServedStep& step : served_steps()) {
    const PreparedStep prepared =
        prepare_step(requests_of(step.computed, step.scheduled),
                     {.block_size = 16, .max_blocks_per_req = kBlocksPerRequest}, dispatcher);
    const CommonAttentionMetadata& metadata = prepared.step.metadata;
    const auto num_padded = static_cast<std::int64_t>(metadata.slot_mapping.size());
    const StepInputs inputs = step_inputs(metadata.num_actual_tokens(), num_padded, dtype, ++seed);
    layers.batch().update(metadata);
    layers.batch().update_inputs(inputs.query, inputs.key, inputs.value);
    layers.set_shape(launch_shape_of(metadata));
    if (prepared.dispatch.mode == CUDAGraphMode::kNone) {
      run_eagerly(parts);
    } else {
      graphs.replay(prepared.dispatch);
    }
    for (std::size_t layer = 0; layer < kNumLayers; ++layer) {
      results.outputs.push_back(
          first_rows(layers.output(layer, num_padded), metadata.num_actual_tokens()));
    }
    results.dispatch.push_back(prepared.dispatch);
  }
  for (std::size_t layer = 0; layer < kNumLayers; ++layer) {
    results.caches.push_back(layers.cache(layer));
  }
  return results;
}

Tensor first_rows(const Tensor& tensor, std::int64_t num_rows) {
  Shape shape = tensor.shape();
  shape[0] = num_rows;
  Tensor rows(tensor.dtype(), shape);
  std::copy_n(tensor.bytes(), rows.size_in_bytes(), rows.bytes());
  return rows;
}

}  // namespace pagelab::test
