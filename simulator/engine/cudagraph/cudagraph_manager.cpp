#include "simulator/engine/cudagraph/cudagraph_manager.h"

#include <algorithm>
#include <utility>

#include "reference/contract/refuse.h"
#include "simulator/engine/cudagraph/graph_settings.h"
#include "simulator/engine/cudagraph/lora_cases.h"

namespace pagelab {
namespace {

void require_ascending(const std::vector<std::int64_t>& lora_cases) {
  if (lora_cases.empty()) refuse("lora_cases is empty; without adapters it holds one case, 0.");
  std::int64_t before = -1;
  for (const std::int64_t num_active_loras : lora_cases) {
    if (num_active_loras <= before) {
      refuse("lora_cases holds {} after {}; they must ascend, from at least 0.", num_active_loras,
             before);
    }
    before = num_active_loras;
  }
}

void require_sound(const BatchShape& batch) {
  require_sound_step(batch.num_tokens, batch.num_active_loras);
  if (batch.num_reqs < 1 || batch.num_reqs > batch.num_tokens) {
    refuse("num_reqs is {}; {} tokens belong to 1 to {} requests.", batch.num_reqs,
           batch.num_tokens, batch.num_tokens);
  }
}

// Whether a graph, recorded for something, can hold a batch of at most that.
bool can_hold(const BatchExecutionDescriptor& graph, const BatchShape& batch) {
  if (graph.uniform_token_count && graph.uniform_token_count != batch.uniform_token_count) {
    return false;
  }
  // A batch that does not say how long its queries are may have longer ones.
  if (graph.max_query_len &&
      !(batch.max_query_len && *batch.max_query_len <= *graph.max_query_len)) {
    return false;
  }
  if (graph.num_reqs && *graph.num_reqs < batch.num_reqs) return false;
  return graph.num_tokens >= batch.num_tokens && graph.num_active_loras == batch.num_active_loras;
}

}  // namespace

CudaGraphManager::CudaGraphManager(CudagraphManagerSettings settings)
    : settings_(std::move(settings)) {
  require_sound_graph_settings(settings_.capture_sizes, settings_.decode_query_len,
                               settings_.max_num_seqs);
  require_ascending(settings_.lora_cases);
  if (settings_.mode == CUDAGraphMode::kNone) return;
  for (const std::int64_t size : settings_.capture_sizes) {
    for (const std::int64_t num_active_loras : settings_.lora_cases) {
      add_candidates_of_size(size, num_active_loras);
    }
  }
}

void CudaGraphManager::add_candidates_of_size(std::int64_t size, std::int64_t num_active_loras) {
  if (separate_routine(settings_.mode)) {
    if (const auto graph = decode_graph(size)) add(*graph, num_active_loras);
  }
  const CUDAGraphMode mode = mixed_mode(settings_.mode);
  if (mode == CUDAGraphMode::kNone) return;
  BatchExecutionDescriptor graph = {.cg_mode = mode, .num_tokens = size};
  if (mode == CUDAGraphMode::kFull) graph.num_reqs = std::min(size, settings_.max_num_seqs);
  add(graph, num_active_loras);
}

// A graph of decodes that needs about `size` tokens; none if so many can never run.
std::optional<BatchExecutionDescriptor> CudaGraphManager::decode_graph(std::int64_t size) const {
  const std::int64_t query_len = settings_.decode_query_len;
  BatchExecutionDescriptor graph = {.cg_mode = CUDAGraphMode::kFull};
  if (settings_.varlen_decode) {
    if (size > query_len * settings_.max_num_seqs) return std::nullopt;
    graph.num_tokens = size;
    graph.num_reqs = std::min(size, settings_.max_num_seqs);
    graph.max_query_len = query_len;
    return graph;
  }
  const std::int64_t num_reqs = (size + query_len - 1) / query_len;
  graph.num_tokens = num_reqs * query_len;
  graph.num_reqs = num_reqs;
  graph.uniform_token_count = query_len;
  const bool can_run =
      num_reqs <= settings_.max_num_seqs && graph.num_tokens <= settings_.capture_sizes.back();
  return can_run ? std::optional(graph) : std::nullopt;
}

// Sizes that round up to the same decodes share one graph.
void CudaGraphManager::add(BatchExecutionDescriptor graph, std::int64_t num_active_loras) {
  graph.num_active_loras = num_active_loras;
  if (std::find(candidates_.begin(), candidates_.end(), graph) == candidates_.end()) {
    candidates_.push_back(graph);
  }
}

std::vector<std::pair<CUDAGraphMode, std::vector<BatchExecutionDescriptor>>>
CudaGraphManager::get_capture_descs() const {
  std::vector<std::pair<CUDAGraphMode, std::vector<BatchExecutionDescriptor>>> descs;
  for (const CUDAGraphMode mode : {CUDAGraphMode::kFull, CUDAGraphMode::kPiecewise}) {
    std::vector<BatchExecutionDescriptor> of_mode;
    for (const BatchExecutionDescriptor& graph : candidates_) {
      if (graph.cg_mode == mode) of_mode.push_back(graph);
    }
    std::stable_sort(of_mode.begin(), of_mode.end(), [](const auto& left, const auto& right) {
      return left.num_tokens > right.num_tokens;
    });
    if (!of_mode.empty()) descs.emplace_back(mode, std::move(of_mode));
  }
  return descs;
}

// Past the largest case, the largest: it stands for any number.
std::int64_t CudaGraphManager::captured_loras(std::int64_t num_active_loras) const {
  if (num_active_loras == 0) return 0;
  return std::min(captured_lora_case(settings_.lora_cases, num_active_loras),
                  settings_.lora_cases.back());
}

// Only graphs of the smallest recorded token count that holds the batch are tried, so that padding stays small: if
// the next larger one has a graph for this batch, it is not used.
std::optional<BatchExecutionDescriptor> CudaGraphManager::first_fit(CUDAGraphMode mode,
                                                                    const BatchShape& batch) const {
  std::optional<std::int64_t> smallest;
  for (const BatchExecutionDescriptor& graph : candidates_) {
    if (graph.cg_mode != mode || graph.num_tokens < batch.num_tokens) continue;
    smallest = std::min(smallest.value_or(graph.num_tokens), graph.num_tokens);
  }
  for (const BatchExecutionDescriptor& graph : candidates_) {
    const bool is_tried = graph.cg_mode == mode && graph.num_tokens == smallest;
    if (is_tried && can_hold(graph, batch)) return graph;
  }
  return std::nullopt;
}

BatchExecutionDescriptor CudaGraphManager::dispatch(const BatchShape& batch) const {
  require_sound(batch);
  BatchShape rounded = batch;
  rounded.num_active_loras = captured_loras(batch.num_active_loras);
  for (const CUDAGraphMode mode : {CUDAGraphMode::kFull, CUDAGraphMode::kPiecewise}) {
    if (const auto graph = first_fit(mode, rounded)) return *graph;
  }
  return {.num_tokens = batch.num_tokens,
          .num_reqs = batch.num_reqs,
          .num_active_loras = rounded.num_active_loras};
}

}  // namespace pagelab
