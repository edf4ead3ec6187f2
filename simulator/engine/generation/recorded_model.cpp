#include "simulator/engine/generation/recorded_model.h"

#include <utility>

namespace pagelab {
namespace {

// Everything that the runner may choose, the largest first.
std::vector<CudagraphDispatch> graphs_of(const GraphWorker& worker) {
  std::vector<CudagraphDispatch> graphs;
  if (worker.cascade()) {
    for (const auto& [mode, descriptors] : worker.dispatcher().get_capture_descs()) {
      for (const BatchDescriptor& descriptor : descriptors) graphs.push_back({mode, descriptor});
    }
    return graphs;
  }
  for (const auto& [mode, descriptors] : worker.manager().get_capture_descs()) {
    for (const BatchExecutionDescriptor& graph : descriptors) graphs.push_back(dispatch_of(graph));
  }
  return graphs;
}

}  // namespace

CudagraphDispatch dispatch_of(const BatchExecutionDescriptor& graph) {
  return {graph.cg_mode,
          {.num_tokens = graph.num_tokens,
           .num_reqs = graph.num_reqs,
           .uniform = graph.uniform_token_count.has_value()}};
}

RecordedModel::RecordedModel(std::unique_ptr<DeviceModel> model, const GraphWorker& worker)
    : model_(std::move(model)), parts_(model_->parts()), graphs_(model_->device()) {
  for (const CudagraphDispatch& graph : graphs_of(worker)) record(graph);
}

void RecordedModel::record(const CudagraphDispatch& graph) {
  // Without drafts a uniform batch is one of single tokens; in any other, all tokens may be one request's.
  const BatchDescriptor& batch = graph.descriptor;
  model_->set_graph_shape(batch.num_tokens, batch.num_reqs.value_or(batch.num_tokens),
                          batch.uniform ? 1 : batch.num_tokens);
  graphs_.capture(graph, parts_);
  const StepGraphs::Counts counts = graphs_.counts(graph);
  ++recorded_.num_steps;
  recorded_.num_graphs += counts.graphs;
  recorded_.num_launches += counts.recorded_launches;
}

RowMatrix RecordedModel::run(const CudagraphDispatch& graph, const LlamaBatch& batch) {
  model_->update(batch);
  if (graph.mode == CUDAGraphMode::kNone) {
    run_eagerly(parts_);
  } else {
    graphs_.replay(graph);
  }
  const Tensor logits = model_->logits();
  return Eigen::Map<const RowMatrix>(logits.data<double>(), logits.shape()[0], logits.shape()[1]);
}

StepGraphs::Counts RecordedModel::counts(const CudagraphDispatch& graph) const {
  if (graph.mode == CUDAGraphMode::kNone) return {};
  return graphs_.counts(graph);
}

}  // namespace pagelab
