#include "simulator/engine/cudagraph/cudagraph_dispatcher.h"

#include <algorithm>
#include <utility>

#include "reference/contract/refuse.h"
#include "simulator/engine/cudagraph/graph_settings.h"

namespace pagelab {

bool is_uniform_decode(std::int64_t max_query_len,
                       std::int64_t num_tokens,
                       std::int64_t num_reqs,
                       std::int64_t uniform_decode_query_len) {
  return max_query_len == uniform_decode_query_len &&
         num_tokens == uniform_decode_query_len * num_reqs;
}

CudagraphDispatcher::CudagraphDispatcher(CudagraphSettings settings)
    : settings_(std::move(settings)), lora_cases_(lora_cases(settings_.lora)) {
  require_sound_graph_settings(settings_.capture_sizes, settings_.uniform_decode_query_len,
                               settings_.max_num_seqs);
  add_mixed_keys();
  add_decode_keys();
}

// Mixed batches: a graph for every size. A piecewise graph holds no attention, so the number of requests is not
// baked into it; a full one is recorded for the most requests that so many tokens can belong to.
void CudagraphDispatcher::add_mixed_keys() {
  const CUDAGraphMode mode = mixed_mode(settings_.mode);
  if (mode == CUDAGraphMode::kNone) return;
  const bool is_full = mode == CUDAGraphMode::kFull;
  std::set<BatchDescriptor>& keys = is_full ? full_keys_ : piecewise_keys_;
  for (const std::int64_t num_tokens : settings_.capture_sizes) {
    BatchDescriptor key = {.num_tokens = num_tokens};
    if (is_full) key.num_reqs = std::min(num_tokens, settings_.max_num_seqs);
    for (const std::int64_t num_active_loras : lora_cases_) {
      key.has_lora = num_active_loras > 0;
      key.num_active_loras = num_active_loras;
      keys.insert(key);
    }
  }
}

// Batches of decodes, if the mode is a pair: whole decodes, of at most as many requests as may run.
void CudagraphDispatcher::add_decode_keys() {
  if (!separate_routine(settings_.mode)) return;
  const std::int64_t query_len = settings_.uniform_decode_query_len;
  for (const std::int64_t num_tokens : settings_.capture_sizes) {
    if (num_tokens < query_len || num_tokens > query_len * settings_.max_num_seqs) continue;
    BatchDescriptor key = {.num_tokens = num_tokens,
                           .num_reqs = std::min(num_tokens / query_len, settings_.max_num_seqs),
                           .uniform = true};
    for (const std::int64_t num_active_loras : lora_cases_) {
      key.has_lora = num_active_loras > 0;
      key.num_active_loras = num_active_loras;
      full_keys_.insert(key);
    }
  }
}

const std::set<BatchDescriptor>& CudagraphDispatcher::keys(CUDAGraphMode mode) const {
  static const std::set<BatchDescriptor> kNone;
  if (mode == CUDAGraphMode::kPiecewise) return piecewise_keys_;
  return mode == CUDAGraphMode::kFull ? full_keys_ : kNone;
}

std::vector<std::pair<CUDAGraphMode, std::vector<BatchDescriptor>>>
CudagraphDispatcher::get_capture_descs() const {
  std::vector<std::pair<CUDAGraphMode, std::vector<BatchDescriptor>>> descs;
  for (const CUDAGraphMode mode : {CUDAGraphMode::kPiecewise, CUDAGraphMode::kFull}) {
    std::vector<BatchDescriptor> of_mode(keys(mode).begin(), keys(mode).end());
    std::sort(of_mode.begin(), of_mode.end(), [](const auto& left, const auto& right) {
      return std::make_pair(left.num_tokens, left.num_active_loras) >
             std::make_pair(right.num_tokens, right.num_active_loras);
    });
    if (!of_mode.empty()) descs.emplace_back(mode, std::move(of_mode));
  }
  return descs;
}

std::int64_t CudagraphDispatcher::padded(std::int64_t num_tokens) const {
  return *std::lower_bound(settings_.capture_sizes.begin(), settings_.capture_sizes.end(),
                           num_tokens);
}

BatchDescriptor CudagraphDispatcher::descriptor_of(const StepShape& step) const {
  BatchDescriptor descriptor = {.num_tokens = padded(step.num_tokens)};
  // Where decodes and mixed batches share their graphs, a batch of decodes is one batch like another.
  descriptor.uniform = step.uniform_decode && separate_routine(settings_.mode);
  const std::int64_t tokens_per_req = descriptor.uniform ? settings_.uniform_decode_query_len : 1;
  descriptor.num_reqs = std::min(descriptor.num_tokens / tokens_per_req, settings_.max_num_seqs);
  descriptor.num_active_loras = captured_lora_case(lora_cases_, step.num_active_loras);
  descriptor.has_lora = descriptor.num_active_loras > 0;
  return descriptor;
}

CudagraphDispatch CudagraphDispatcher::dispatch(const StepShape& step,
                                                const AllowedModes& allowed) const {
  require_sound_step(step.num_tokens, step.num_active_loras);
  if (step.uniform_decode && step.num_tokens % settings_.uniform_decode_query_len != 0) {
    refuse(
        "num_tokens is {}, which are no whole decodes of {} tokens, but the step is said to be "
        "uniform.",
        step.num_tokens, settings_.uniform_decode_query_len);
  }
  const CudagraphDispatch eager = {CUDAGraphMode::kNone, {.num_tokens = step.num_tokens}};
  const bool has_a_size =
      !settings_.capture_sizes.empty() && step.num_tokens <= settings_.capture_sizes.back();
  if (settings_.mode == CUDAGraphMode::kNone || !has_a_size) return eager;

  const BatchDescriptor exact = descriptor_of(step);
  if (allowed.full && full_keys_.contains(exact)) return {CUDAGraphMode::kFull, exact};

  BatchDescriptor relaxed = exact;
  relaxed.num_reqs.reset();
  relaxed.uniform = false;
  if (allowed.piecewise && piecewise_keys_.contains(relaxed)) {
    return {CUDAGraphMode::kPiecewise, relaxed};
  }
  return eager;
}

}  // namespace pagelab
