/// \file
/// The recorded steps of a model, and the replay that the dispatcher chose. A step is recorded once for each descriptor;
/// as FULL into one graph, as PIECEWISE into a graph for each part between two attention layers.
///
///     at start      for each mode and descriptor of dispatcher.get_capture_descs(), the largest first:
///                       layers.set_shape(layers.shape_of_graph(...));
///                       graphs.capture({mode, descriptor}, layers.parts());
///     each step     const PreparedStep prepared = prepare_step(...);         padded to its graph
///                       layers.batch().update(prepared.step.metadata);       in place
///                       graphs.replay(prepared.dispatch);
///
///     FULL         [ piece  attention  piece  attention  ... ]            one graph
///     PIECEWISE    [ piece ] attention [ piece ] attention ...            attention is launched in every step anew
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "gpu/runtime/device.h"
#include "gpu/runtime/graph.h"
#include "gpu/runtime/step_parts.h"
#include "simulator/engine/cudagraph/batch_descriptor.h"

namespace pagelab {

/// Graphs by mode and descriptor.
/// \source vLLM compilation/cuda_graph.py, CUDAGraphWrapper
class StepGraphs {
 public:
  /// \param device  that runs the steps
  explicit StepGraphs(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  /// Records a step. Nothing runs.
  /// \param graph   for what: FULL or PIECEWISE, and the padded batch
  /// \param step    its parts, launching with that batch's shape. Of a PIECEWISE one the attention is called in each
  ///                replay, so what it refers to must live as long as this object
  /// \throws Error  if the mode is NONE, the graph exists, or the step does more than launch
  void capture(const CudagraphDispatch& graph, const StepParts& step);

  /// Runs what was recorded. The step's arrays must have been written in place before.
  /// \throws Error  if that graph was not recorded; for NONE there is none: run_eagerly() is what such a step wants
  void replay(const CudagraphDispatch& graph) const;

  /// Whether a graph was recorded.
  bool has(const CudagraphDispatch& graph) const { return steps_.contains(key_of(graph)); }

  /// What one call of replay() launches.
  struct Counts {
    std::int64_t graphs = 0;             ///< replayed, one call each
    std::int64_t recorded_launches = 0;  ///< in these graphs
    std::int64_t eager_parts = 0;        ///< attention layers that are launched anew
  };
  /// Counts a step's parts. \throws Error as replay
  Counts counts(const CudagraphDispatch& graph) const;

  /// What was recorded, in its order: of a PIECEWISE step the pieces' launches. \throws Error as replay
  std::vector<RecordedLaunch> launches(const CudagraphDispatch& graph) const;

 private:
  // One of the two.
  struct RecordedPart {
    std::unique_ptr<Graph> graph;
    std::function<void()> attention;
  };
  using Key = std::pair<CUDAGraphMode, BatchDescriptor>;

  static Key key_of(const CudagraphDispatch& graph) { return {graph.mode, graph.descriptor}; }
  const std::vector<RecordedPart>& find(const CudagraphDispatch& graph) const;

  std::shared_ptr<Device> device_;
  std::map<Key, std::vector<RecordedPart>> steps_;
};

}  // namespace pagelab
