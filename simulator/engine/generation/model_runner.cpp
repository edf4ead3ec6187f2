#include "simulator/engine/generation/model_runner.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "reference/contract/refuse.h"
#include "reference/contract/validate.h"
#include "reference/model/greedy.h"
#include "simulator/engine/step/prepared_step.h"

namespace pagelab {
namespace {

// [num_blocks] where each of the engine's blocks lies in the cache. The null block stays where it is.
std::vector<std::int32_t> shuffled_blocks(std::int64_t num_blocks, std::uint64_t seed) {
  std::vector<std::int32_t> place_of_block(static_cast<std::size_t>(num_blocks));
  std::iota(place_of_block.begin(), place_of_block.end(), kNullBlock);
  std::shuffle(place_of_block.begin() + 1, place_of_block.end(), std::mt19937_64(seed));
  return place_of_block;
}

}  // namespace

struct ModelRunner::ReadyStep {
  std::vector<std::int64_t> order;  // [num_reqs] the scheduler's entry at each place of the batch
  CudagraphDispatch graph;
  std::int64_t cascade_prefix_len = 0;
  BuiltStep arrays;
};

ModelRunner::ModelRunner(const Llama& model,
                         const AttentionBackend& backend,
                         const KvCacheSpec& spec,
                         const GraphWorkerSettings& settings,
                         std::int64_t max_num_batched_tokens,
                         const std::optional<std::uint64_t>& block_order_seed)
    : model_(model), cache_spec_(spec), graphs_(settings) {
  if (settings.cascade && !backend.has_cascade()) refuse_cascade();
  if (block_order_seed) place_of_block_ = shuffled_blocks(spec.num_blocks, *block_order_seed);
  recorded_ = recorded_on(backend, settings, max_num_batched_tokens);
  if (recorded_ == nullptr) layers_ = model.make_attention_layers(backend, spec);
}

// The model with its graphs; none without graphs, or if the backend launches no kernels that could be recorded.
std::unique_ptr<RecordedModel> ModelRunner::recorded_on(const AttentionBackend& backend,
                                                        const GraphWorkerSettings& settings,
                                                        std::int64_t max_num_batched_tokens) {
  const auto* on_device = dynamic_cast<const DeviceModelBackend*>(&backend);
  if (on_device == nullptr || settings.mode == CUDAGraphMode::kNone) return nullptr;
  max_blocks_per_req_ =
      block_table_columns(model_.config().max_position_embeddings, cache_spec_.block_size);
  const std::int64_t largest_graph =
      settings.capture_sizes.empty() ? 0 : settings.capture_sizes.back();
  const DeviceModelSizes sizes = {.max_num_tokens = std::max(max_num_batched_tokens, largest_graph),
                                  .max_num_reqs = settings.max_num_seqs,
                                  .max_blocks_per_req = max_blocks_per_req_,
                                  .cache = cache_spec_};
  return std::make_unique<RecordedModel>(on_device->make_device_model(model_, sizes), graphs_);
}

ModelRunnerOutput ModelRunner::execute_model(const SchedulerOutput& step) {
  // Step 1: what the scheduler said about requests that come, grow and go.
  update_states(step);

  // Step 2: cascade, graph, padding, and the arrays that every attention backend reads.
  const ReadyStep ready = prepare(step);
  const LlamaBatch batch = batch_of(step, ready);
  validate(batch.metadata, AttnType::kDecoder, static_cast<std::int64_t>(batch.token_ids.size()),
           cache_spec_, StepUse::kStoreAndAttend);

  // Step 3: the model, and the next token of everybody whose known tokens are all computed.
  const RowMatrix logits =
      recorded_ != nullptr ? recorded_->run(ready.graph, batch) : model_.forward(batch, layers_);
  return sample(step, ready, logits);
}

void ModelRunner::update_states(const SchedulerOutput& step) {
  for (const RequestId id : step.finished_req_ids) rows_.remove(id);
  for (const RequestId id : step.preempted_req_ids) rows_.remove(id);
  for (const AdmittedRequest& request : step.new_requests) {
    rows_.replace(request.id, request.block_ids[0]);
  }
  for (const AdmittedRequest& request : step.resumed_requests) {
    rows_.replace(request.id, request.block_ids[0]);
  }
  for (const NewBlocks& blocks : step.new_blocks) rows_.append(blocks.id, blocks.block_ids[0]);
}

std::vector<StepRequest> ModelRunner::requests_of(const SchedulerOutput& step) const {
  std::vector<StepRequest> requests;
  for (const ScheduledTokens& part : step.scheduled) {
    StepRequest request;
    request.scheduled = {.num_scheduled_tokens = part.num_tokens,
                         .num_computed_tokens = part.num_computed_tokens,
                         .num_prompt_tokens = part.request->num_prompt_tokens,
                         .num_draft_tokens = part.num_draft_tokens};
    request.block_ids = rows_.row(part.id);
    if (!place_of_block_.empty()) {
      for (std::int32_t& block : request.block_ids) block = place_of_block_[block];
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

ModelRunner::ReadyStep ModelRunner::prepare(const SchedulerOutput& step) const {
  const std::vector<StepRequest> requests = requests_of(step);
  const StepLayout layout = {.block_size = cache_spec_.block_size,
                             .max_blocks_per_req = max_blocks_per_req_};
  ReadyStep ready;
  if (!graphs_.cascade()) {
    SortedStep sorted = prepare_sorted_step(requests, layout, graphs_.manager());
    ready.order = std::move(sorted.order);
    ready.graph = dispatch_of(sorted.dispatch);
    ready.arrays = std::move(sorted.step);
    return ready;
  }
  PreparedStep prepared =
      prepare_step(requests, layout, graphs_.dispatcher(),
                   SharedPrefix{step.num_common_prefix_blocks, *graphs_.cascade()});
  ready.order.resize(requests.size());
  std::iota(ready.order.begin(), ready.order.end(), 0);
  ready.graph = prepared.dispatch;
  ready.cascade_prefix_len = prepared.cascade_prefix_len;
  ready.arrays = std::move(prepared.step);
  return ready;
}

LlamaBatch ModelRunner::batch_of(const SchedulerOutput& step, const ReadyStep& ready) const {
  LlamaBatch batch;
  batch.metadata = ready.arrays.metadata;
  batch.positions = ready.arrays.positions;
  batch.num_common_prefix_blocks = ready.cascade_prefix_len / cache_spec_.block_size;
  for (const std::int64_t index : ready.order) {
    const ScheduledTokens& part = step.scheduled[index];
    const auto first = part.request->tokens.begin() + part.num_computed_tokens;
    batch.token_ids.insert(batch.token_ids.end(), first, first + part.num_tokens);
    // Inside a prompt the next token is known already.
    if (part.is_prefill_chunk) continue;
    batch.logits_indices.push_back(static_cast<std::int64_t>(batch.token_ids.size()) - 1);
  }
  // Padding computes some token or other; nobody reads what comes of it.
  const std::size_t num_padded_tokens = batch.metadata.slot_mapping.size();
  batch.token_ids.resize(num_padded_tokens, 0);
  batch.positions.resize(num_padded_tokens, 0);
  return batch;
}

ModelRunnerOutput ModelRunner::sample(const SchedulerOutput& step,
                                      const ReadyStep& ready,
                                      const RowMatrix& logits) const {
  // Logits stand in the batch's order, sampled tokens in the scheduler's.
  std::vector<GreedyChoice> choices(step.scheduled.size());
  Eigen::Index logits_row = 0;
  for (const std::int64_t index : ready.order) {
    const ScheduledTokens& part = step.scheduled[index];
    if (part.is_prefill_chunk) continue;
    choices[index] = greedy_choice(logits.row(logits_row++));
    if (choices[index].top2_gap == choices[index].top2_gap) continue;
    refuse(
        "the logits after token {} of request {} hold a NaN: the backend returned values that are "
        "not numbers.",
        part.request->num_tokens() - 1, part.id);
  }

  ModelRunnerOutput output;
  output.sampled.start.push_back(0);
  for (std::size_t index = 0; index < step.scheduled.size(); ++index) {
    if (!step.scheduled[index].is_prefill_chunk) {
      output.sampled.tokens.push_back(choices[index].token_id);
      output.top2_gap.push_back(choices[index].top2_gap);
    }
    output.sampled.start.push_back(static_cast<std::int32_t>(output.sampled.tokens.size()));
  }
  const CommonAttentionMetadata& metadata = ready.arrays.metadata;
  output.graph_mode = ready.graph.mode;
  if (recorded_ != nullptr) output.replayed = recorded_->counts(ready.graph);
  output.cascade_prefix_len = ready.cascade_prefix_len;
  output.num_padding_tokens =
      static_cast<std::int64_t>(metadata.slot_mapping.size()) - metadata.num_actual_tokens();
  return output;
}

}  // namespace pagelab
