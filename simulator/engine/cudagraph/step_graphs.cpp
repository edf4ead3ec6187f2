#include "simulator/engine/cudagraph/step_graphs.h"

#include "reference/contract/refuse.h"

namespace pagelab {

void StepGraphs::capture(const CudagraphDispatch& graph, const StepParts& step) {
  if (has(graph)) refuse("{} is recorded already.", to_string(graph));
  std::vector<RecordedPart> recorded;
  switch (graph.mode) {
    case CUDAGraphMode::kFull:
      recorded.push_back({device_->capture([&] { run_eagerly(step); }), nullptr});
      break;
    case CUDAGraphMode::kPiecewise:
      for (const StepPart& part : step) {
        if (part.is_attention) {
          recorded.push_back({nullptr, part.launch});
        } else {
          recorded.push_back({device_->capture(part.launch), nullptr});
        }
      }
      break;
    default:
      refuse("{} cannot be recorded: a step runs as FULL or PIECEWISE, or without a graph.",
             to_string(graph.mode));
  }
  steps_.emplace(key_of(graph), std::move(recorded));
}

void StepGraphs::replay(const CudagraphDispatch& graph) const {
  for (const RecordedPart& part : find(graph)) {
    if (part.graph != nullptr) {
      part.graph->replay();
    } else {
      part.attention();
    }
  }
}

StepGraphs::Counts StepGraphs::counts(const CudagraphDispatch& graph) const {
  Counts counts;
  for (const RecordedPart& part : find(graph)) {
    if (part.graph == nullptr) {
      ++counts.eager_parts;
    } else {
      ++counts.graphs;
      counts.recorded_launches += static_cast<std::int64_t>(part.graph->launches().size());
    }
  }
  return counts;
}

std::vector<RecordedLaunch> StepGraphs::launches(const CudagraphDispatch& graph) const {
  std::vector<RecordedLaunch> all;
  for (const RecordedPart& part : find(graph)) {
    if (part.graph == nullptr) continue;
    all.insert(all.end(), part.graph->launches().begin(), part.graph->launches().end());
  }
  return all;
}

const std::vector<StepGraphs::RecordedPart>& StepGraphs::find(
    const CudagraphDispatch& graph) const {
  const auto found = steps_.find(key_of(graph));
  if (found == steps_.end()) {
    refuse("{} was not recorded, so it cannot be replayed.", to_string(graph));
  }
  return found->second;
}

}  // namespace pagelab
