/// \file
/// A model whose steps are replayed. At the start it records a graph for everything that the dispatcher may choose, as
/// vLLM does; then each step is written into the arrays that the graphs read, and runs as it was dispatched:
///
///     FULL         one replay
///     PIECEWISE    a replay for each piece; attention is launched in between, with cascade where the step has one
///     NONE         every launch by itself
/// \source vLLM v1/worker/gpu_model_runner.py, capture_model
#pragma once

#include <memory>
#include <vector>

#include "gpu/runtime/device_model.h"
#include "reference/model/llama.h"
#include "simulator/engine/cudagraph/step_graphs.h"
#include "simulator/engine/serve/graph_worker.h"

namespace pagelab {

/// What was recorded at the start.
struct RecordedGraphs {
  std::int64_t num_steps = 0;     ///< kinds of step: modes and descriptors
  std::int64_t num_graphs = 0;    ///< one for a FULL step, one a piece for a PIECEWISE one
  std::int64_t num_launches = 0;  ///< in all of them
};

/// The graph of the second model runner, in the first one's words.
CudagraphDispatch dispatch_of(const BatchExecutionDescriptor& graph);

/// A device's model, its graphs, and how steps run.
class RecordedModel {
 public:
  /// Records every graph that the worker's runner has, the largest first.
  /// \param model   never null
  /// \param worker  whose graphs
  /// \throws Error  if the model's attention cannot be recorded as FULL, and the worker has such graphs
  RecordedModel(std::unique_ptr<DeviceModel> model, const GraphWorker& worker);

  /// Runs a step.
  /// \param graph    as which
  /// \param batch    padded to it
  /// \returns        [L, vocab_size], of what batch.logits_indices asks for
  /// \throws Error   if the batch is not consistent or does not fit, or the graph was not recorded
  RowMatrix run(const CudagraphDispatch& graph, const LlamaBatch& batch);

  /// What one step launches. \throws Error if its graph was not recorded
  StepGraphs::Counts counts(const CudagraphDispatch& graph) const;

  /// All that was recorded.
  const RecordedGraphs& recorded() const { return recorded_; }
  /// The model, for whoever looks into its arrays.
  DeviceModel& model() { return *model_; }

 private:
  void record(const CudagraphDispatch& graph);

  std::unique_ptr<DeviceModel> model_;
  StepParts parts_;
  StepGraphs graphs_;
  RecordedGraphs recorded_;
};

}  // namespace pagelab
