/// \file
/// A step as a list of parts, cut where a compiled model is cut: at its attention layers. A graph may hold all of it,
/// or each part that is no attention by itself.
#pragma once

#include <functional>
#include <vector>

namespace pagelab {

/// One part of a step.
struct StepPart {
  bool is_attention = false;  ///< a layer's cache write and attention; else what lies between two
  std::function<void()> launch;  ///< launches kernels and nothing else
};

/// All parts, in their order.
using StepParts = std::vector<StepPart>;

/// Launches everything, kernel by kernel: a step that runs as NONE.
inline void run_eagerly(const StepParts& step) {
  for (const StepPart& part : step) part.launch();
}

}  // namespace pagelab
