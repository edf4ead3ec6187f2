// graph_costs: what a step costs when its launches are made one by one, by pieces, and by one graph, on this machine's
// GPU. Without one the program says so and ends well.
//
// Two stacks of layers (gpu/backends/layer_stack.h) in bfloat16, with eight stand-ins between two attentions: a
// Llama-3-8B's 32 layers, and those of reference/model/tiny_llama. Decodes have 512 tokens each, the new one included, and
// graphs are recorded for sequences of up to 8192. Medians of 50 steps:
//
//     host   how long the CPU is busy with launching
//     step   from the first launch until the GPU has finished, by the host's clock
//     gpu    from the first launch to the last, by CUDA events
//
// "short" is the gpu time of a full graph that was recorded for sequences of up to 512 tokens: the difference is what the
// thread blocks cost that find nothing to do. "update" is the check of the step's metadata and the copy into the persistent
// arrays, which both kinds of graph need. "KiB" is what the driver takes for a recording; it keeps that, so that later rows
// find it there.

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "gpu/backends/layer_stack.h"
#include "reference/contract/error.h"
#include "simulator/engine/cudagraph/step_graphs.h"
#include "simulator/engine/step/step_builder.h"

using namespace pagelab;

namespace {

constexpr std::int64_t kSeqLen = 512;
constexpr std::int64_t kMaxSeqLen = 8192;
constexpr std::int64_t kBlockSize = 16;
constexpr std::int64_t kMostTokens = 256;
constexpr int kRounds = 50;

struct Model {
  const char* name;
  std::size_t num_layers;
  std::int64_t num_query_heads;
  std::int64_t num_kv_heads;
  std::int64_t head_size;
};

// A batch of decodes, and behind them perhaps one chunk of a prompt.
struct Batch {
  std::int64_t num_decodes;
  std::int64_t chunk;  // tokens; 0: none

  std::int64_t num_tokens() const { return num_decodes + chunk; }
  std::int64_t num_reqs() const { return num_decodes + (chunk > 0 ? 1 : 0); }
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

std::size_t free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) throw Error("cudaMemGetInfo failed.");
  return free;
}

BuiltStep step_of(const Batch& batch) {
  std::vector<StepRequest> requests;
  std::int32_t next_block = 1;
  for (std::int64_t i = 0; i < batch.num_reqs(); ++i) {
    const std::int64_t scheduled = i < batch.num_decodes ? 1 : batch.chunk;
    StepRequest request = {
        {.num_scheduled_tokens = scheduled, .num_computed_tokens = kSeqLen - scheduled}, {}};
    for (std::int64_t block = 0; block < kSeqLen / kBlockSize; ++block) {
      request.block_ids.push_back(next_block++);
    }
    requests.push_back(request);
  }
  return build_step(requests,
                    {.block_size = kBlockSize, .max_blocks_per_req = kMaxSeqLen / kBlockSize});
}

struct Cost {
  double host_us;
  double step_us;
  double gpu_us;
};

template <typename Step>
Cost cost_of(const Step& step) {
  step();  // loads the kernels
  cuda_device()->synchronize();
  std::vector<double> host;
  std::vector<double> whole;
  std::vector<double> gpu;
  for (int round = 0; round < kRounds; ++round) {
    const double start = now();
    step();
    const double launched = now();
    cuda_device()->synchronize();
    host.push_back(launched - start);
    whole.push_back(now() - start);
    gpu.push_back(cuda_device()->seconds_of(step));
  }
  return {median(host) * 1e6, median(whole) * 1e6, median(gpu) * 1e6};
}

// What it takes to record a step, the mean of some graphs of the same batch.
struct CaptureCost {
  double milliseconds;
  double kilobytes;
};

CaptureCost capture_cost(LayerStack& layers, CUDAGraphMode mode, const BatchDescriptor& batch) {
  constexpr int kGraphs = 16;
  std::vector<std::unique_ptr<StepGraphs>> all;
  const std::size_t before = free_bytes();
  const double start = now();
  for (int i = 0; i < kGraphs; ++i) {
    all.push_back(std::make_unique<StepGraphs>(cuda_device()));
    all.back()->capture({mode, batch}, layers.parts());
    all.back()->replay({mode, batch});  // memory is taken at the first
  }
  cuda_device()->synchronize();
  const double seconds = now() - start;
  return {seconds / kGraphs * 1e3,
          (static_cast<double>(before) - static_cast<double>(free_bytes())) / kGraphs / 1024};
}

void measure(LayerStack& layers, const Batch& batch) {
  const BuiltStep step = step_of(batch);
  const LaunchShape shape = launch_shape_of(step.metadata);
  const auto update = [&] { layers.batch().update(step.metadata); };
  const double update_us = cost_of(update).step_us;

  const BatchDescriptor key = {.num_tokens = batch.num_tokens(), .num_reqs = batch.num_reqs()};
  layers.set_shape(layers.shape_of_graph(key.num_tokens, *key.num_reqs, shape.max_query_len));
  const CaptureCost capture_full = capture_cost(layers, CUDAGraphMode::kFull, key);
  const CaptureCost capture_pieces = capture_cost(layers, CUDAGraphMode::kPiecewise, key);
  StepGraphs graphs(cuda_device());
  graphs.capture({CUDAGraphMode::kFull, key}, layers.parts());
  graphs.capture({CUDAGraphMode::kPiecewise, key}, layers.parts());

  layers.set_shape(shape);
  const StepParts parts = layers.parts();
  const Cost eager = cost_of([&] { run_eagerly(parts); });
  const Cost pieces = cost_of([&] { graphs.replay({CUDAGraphMode::kPiecewise, key}); });
  const Cost full = cost_of([&] { graphs.replay({CUDAGraphMode::kFull, key}); });
  const auto short_graph = cuda_device()->capture([&] { run_eagerly(parts); });
  const Cost short_full = cost_of([&] { short_graph->replay(); });
  const std::string name = batch.chunk == 0
                               ? fmt::format("{} decodes", batch.num_decodes)
                               : fmt::format("{} + {}", batch.num_decodes, batch.chunk);
  fmt::print("| {:11} | {:4} |", name, short_graph->launches().size());
  for (const Cost& cost : {eager, pieces, full}) {
    fmt::print(" {:5.0f} {:6.0f} {:6.0f} |", cost.host_us, cost.step_us, cost.gpu_us);
  }
  fmt::print(" {:6.0f} | {:6.0f} |", short_full.gpu_us, update_us);
  for (const CaptureCost& capture : {capture_pieces, capture_full}) {
    fmt::print(" {:5.1f} {:6.0f} |", capture.milliseconds, capture.kilobytes);
  }
  fmt::print("\n");
  std::fflush(stdout);
}

void measure_all(const Model& model) {
  fmt::print("\n{}: {} layers, {} query and {} KV heads of {}, times in us\n", model.name,
             model.num_layers, model.num_query_heads, model.num_kv_heads, model.head_size);
  fmt::print("| {:11} | {:4} | {:19} | {:19} | {:19} | {:6} | {:6} | {:12} | {:12} |\n", "", "",
             "eager", "piecewise", "full", "short", "", "rec. pieces", "record full");
  fmt::print("| {:11} | {:4} |", "batch", "runs");
  for (int way = 0; way < 3; ++way) fmt::print(" {:>5} {:>6} {:>6} |", "host", "step", "gpu");
  fmt::print(" {:>6} | {:>6} |", "gpu", "update");
  for (int way = 0; way < 2; ++way) fmt::print(" {:>5} {:>6} |", "ms", "KiB");
  fmt::print("\n");
  const PersistentBatchSizes sizes = {
      .max_num_tokens = kMostTokens,
      .max_num_reqs = kMostTokens,
      .max_blocks_per_req = kMaxSeqLen / kBlockSize,
      .num_query_heads = model.num_query_heads,
      .query_dtype = DType::kBFloat16,
      .cache = {.num_blocks = 1 + kMostTokens * kSeqLen / kBlockSize,
                .block_size = kBlockSize,
                .num_kv_heads = model.num_kv_heads,
                .head_size = model.head_size,
                .head_size_v = model.head_size,
                .dtype = DType::kBFloat16},
      .scale = 0.09f};
  // One cache for all layers, of ordinary numbers. It is larger than the GPU's L2 where the batch is large.
  const auto cache = std::make_shared<DeviceKvCache>(cuda_device(), KvCache(sizes.cache));
  const std::size_t bytes = static_cast<std::size_t>(sizes.cache.num_blocks * kBlockSize *
                                                     model.num_kv_heads * model.head_size * 2);
  cuda_device()->fill(cache->keys(), 0x3c, bytes);
  cuda_device()->fill(cache->values(), 0x3c, bytes);
  LayerStack layers(cuda_device(), sizes,
                    std::vector<std::shared_ptr<DeviceKvCache>>(model.num_layers, cache),
                    {.launches_between = 8});
  const Tensor query(DType::kBFloat16, {kMostTokens, model.num_query_heads, model.head_size});
  const Tensor key(DType::kBFloat16, {kMostTokens, model.num_kv_heads, model.head_size});
  layers.batch().update_inputs(query, key, key);
  for (const std::int64_t num_decodes : {1, 2, 4, 8, 16, 32, 64, 128, 256}) {
    measure(layers, {num_decodes, 0});
  }
  for (const std::int64_t num_decodes : {7, 63}) {
    measure(layers, {num_decodes, kMostTokens - num_decodes});
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    fmt::print(stderr, "graph_costs takes no arguments, so {} is too much.\n", argv[1]);
    return 2;
  }
  std::string why_not;
  if (!cuda_is_available(&why_not)) {
    fmt::print("SKIPPED: needs a GPU, but {}.\n", why_not);
    return 0;
  }
  try {
    fmt::print("GPU: {}\n", cuda_device()->name());
    measure_all({"a Llama-3-8B", 32, 32, 8, 128});
    measure_all({"tiny_llama", 4, 4, 2, 32});
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
