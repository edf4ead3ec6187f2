/// \file
/// The worker: it computes the steps that the scheduler decides. It knows requests by the block ids that
/// the scheduler sent, and nothing of waiting, budgets or free blocks.
///
///     SchedulerOutput ─▶ block ids ─▶ cascade? graph? padding ─▶ the step's arrays ─▶ Llama ─▶ greedy tokens
///
/// Where the Llama is: with graphs, and a backend that runs kernels, on the backend's device as a whole, recorded and
/// replayed (recorded_model.h). Otherwise on the CPU (reference/model/llama.h), and the device has cache and
/// attention only. Both compute the same bits but for attention. A backend without kernels has nothing to
/// record: with graphs its steps are padded to their sizes, and computed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "reference/model/llama.h"
#include "reference/registry/backend.h"
#include "simulator/engine/generation/recorded_model.h"
#include "simulator/engine/schedule/scheduler_output.h"
#include "simulator/engine/serve/graph_worker.h"
#include "simulator/engine/step/request_rows.h"
#include "simulator/engine/step/step_builder.h"

namespace pagelab {

/// What a step's model run found.
struct ModelRunnerOutput {
  SampledTokens sampled;         ///< one token for each request whose known tokens are all computed
  std::vector<double> top2_gap;  ///< [sampled.tokens] how clear each choice was
  CUDAGraphMode graph_mode = CUDAGraphMode::kNone;  ///< NONE, PIECEWISE or FULL
  StepGraphs::Counts replayed;                      ///< nothing, if it was not recorded
  std::int64_t num_padding_tokens = 0;              ///< computed for nobody
  std::int64_t cascade_prefix_len = 0;              ///< tokens; 0: no cascade
};

/// Runs a Llama over a paged cache, a step at a time.
/// \source vLLM v1/worker/gpu_model_runner.py, GPUModelRunner, and v1/worker/gpu/model_runner.py: with cascade
///         the first of them, without the second
class ModelRunner {
 public:
  /// \param model     outlives the runner
  /// \param backend   where cache and attention live
  /// \param spec      of each layer's cache
  /// \param settings  graphs and cascade
  /// \param max_num_batched_tokens  of a step
  /// \param block_order_seed  where the engine's blocks lie: none: block i is the cache's block i; else
  ///                          shuffled. The text may not change.
  /// \throws Error    if a setting is out of range, or the backend has no cascade to use
  ModelRunner(const Llama& model,
              const AttentionBackend& backend,
              const KvCacheSpec& spec,
              const GraphWorkerSettings& settings,
              std::int64_t max_num_batched_tokens,
              const std::optional<std::uint64_t>& block_order_seed);

  /// Computes a step.
  /// \param step    the scheduler's next one; none may be left out
  /// \throws Error  if the backend fails, or returns values that are not numbers
  ModelRunnerOutput execute_model(const SchedulerOutput& step);

  /// The model with its graphs; null where nothing is recorded.
  const RecordedModel* recorded_model() const { return recorded_.get(); }

 private:
  struct ReadyStep;  // the arrays, and how they are run

  std::unique_ptr<RecordedModel> recorded_on(const AttentionBackend& backend,
                                             const GraphWorkerSettings& settings,
                                             std::int64_t max_num_batched_tokens);
  void update_states(const SchedulerOutput& step);
  std::vector<StepRequest> requests_of(const SchedulerOutput& step) const;
  ReadyStep prepare(const SchedulerOutput& step) const;
  LlamaBatch batch_of(const SchedulerOutput& step, const ReadyStep& ready) const;
  ModelRunnerOutput sample(const SchedulerOutput& step,
                           const ReadyStep& ready,
                           const RowMatrix& logits) const;

  const Llama& model_;
  KvCacheSpec cache_spec_;
  GraphWorker graphs_;
  AttentionLayers layers_;                   // of a model on the CPU
  std::unique_ptr<RecordedModel> recorded_;  // or this one
  std::int64_t max_blocks_per_req_ = 0;      // columns of its block tables; 0: as a step needs
  RequestRows rows_;
  std::vector<std::int32_t> place_of_block_;  // [num_blocks]; empty: where it says
};

}  // namespace pagelab
