/// \file
/// A step as a model runner prepares it: whether to use cascade, which graph replays it, and the arrays, padded to
/// that graph's size. The three depend on each other in this order, so they are decided in one place.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/engine/cudagraph/cudagraph_dispatcher.h"
#include "simulator/engine/cudagraph/cudagraph_manager.h"
#include "simulator/engine/step/cascade_decision.h"
#include "simulator/engine/step/step_builder.h"

namespace pagelab {

/// What cascade attention may use in a step.
struct SharedPrefix {
  std::int64_t num_common_prefix_blocks = 0;  ///< what the scheduler counted
  CascadeSetting setting;                     ///< model, GPU and run
};

/// A step of the first model runner, ready to run.
struct PreparedStep {
  std::int64_t cascade_prefix_len = 0;  ///< tokens; 0: no cascade
  CudagraphDispatch dispatch;           ///< the graph that replays it, if any
  BuiltStep step;                       ///< the arrays
};

/// Decides how a step of the first model runner runs, and builds its arrays.
///
/// - A cascade step never runs as a full graph: the prefix's length picks other kernels than the recorded ones.
/// - A full graph holds attention, so everything is padded to it; a piecewise one does not, so only the tokens are.
/// \param requests    in the batch's order
/// \param layout      sizes
/// \param dispatcher  the recorded graphs
/// \param prefix      none: cascade is disabled
/// \throws Error      if a number is out of range, a token has no block to go to, or the batch has more
///                    requests than graphs were recorded for
/// \source            vLLM v1/worker/gpu_model_runner.py, execute_model
PreparedStep prepare_step(const std::vector<StepRequest>& requests,
                          const StepLayout& layout,
                          const CudagraphDispatcher& dispatcher,
                          const std::optional<SharedPrefix>& prefix = {});

/// A step of the second model runner, ready to run.
struct SortedStep {
  std::vector<std::int64_t> order;    ///< [num_reqs] which request stands at each place
  BatchExecutionDescriptor dispatch;  ///< the graph that replays it, if any
  BuiltStep step;                     ///< the arrays, in that order
};

/// Sorts a batch, decides how it runs under the second model runner, and builds its arrays. There is no cascade in it.
/// \param requests          in the scheduler's order
/// \param layout            sizes
/// \param manager           the recorded graphs
/// \throws Error            if a number is out of range, or a token has no block to go to
/// \source                  vLLM v1/worker/gpu/model_runner.py, prepare_inputs
SortedStep prepare_sorted_step(const std::vector<StepRequest>& requests,
                               const StepLayout& layout,
                               const CudaGraphManager& manager);

}  // namespace pagelab
