/// \file
/// What the worker decides about a step from its numbers alone: whether a common prefix is read once for all, and which
/// graph replays the step. The arrays themselves are built by prepare_step and prepare_sorted_step, which decide
/// the same; here thousands of steps are decided a second.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simulator/engine/cudagraph/cudagraph_dispatcher.h"
#include "simulator/engine/cudagraph/cudagraph_manager.h"
#include "simulator/engine/request.h"
#include "simulator/engine/step/cascade_decision.h"

namespace pagelab {

/// What the worker is set to.
struct GraphWorkerSettings {
  CUDAGraphMode mode = CUDAGraphMode::kFullAndPiecewise;  ///< resolved
  std::vector<std::int64_t> capture_sizes = {};           ///< ascending
  std::int64_t max_num_seqs = 256;                        ///< requests in a batch
  /// The first model runner with cascade; none: the second one, which has none.
  std::optional<CascadeSetting> cascade = {};
};

/// How a step runs.
struct StepDecision {
  CUDAGraphMode mode = CUDAGraphMode::kNone;  ///< NONE, PIECEWISE or FULL
  std::int64_t num_padded_tokens = 0;         ///< what the graph was recorded for
  std::int64_t cascade_prefix_len = 0;        ///< tokens; 0: no cascade
  /// Whole blocks of tokens that all requests share and have computed, cascade or not; only the first runner looks.
  std::int64_t shared_prefix_len = 0;
};

/// The decisions of one of the two model runners.
class GraphWorker {
 public:
  /// \throws Error  if a setting is out of range
  explicit GraphWorker(const GraphWorkerSettings& settings);

  /// Decides a step.
  /// \param requests                  its numbers
  /// \param tables                    the same requests, with their blocks
  /// \param num_common_prefix_blocks  what the scheduler counted
  /// \param block_size                tokens a block
  StepDecision decide(const std::vector<ScheduledRequest>& requests,
                      std::span<const Request* const> tables,
                      std::int64_t num_common_prefix_blocks,
                      std::int64_t block_size) const;

  /// The first runner's graphs; meant for a worker with cascade.
  const CudagraphDispatcher& dispatcher() const { return dispatcher_; }
  /// The second runner's graphs; meant for one without.
  const CudaGraphManager& manager() const { return manager_; }
  /// The first runner's cascade, if it is that runner.
  const std::optional<CascadeSetting>& cascade() const { return cascade_; }

 private:
  void decide_cascade(StepDecision& decision,
                      const std::vector<ScheduledRequest>& requests,
                      std::int64_t num_common_blocks,
                      std::int64_t block_size) const;

  CudagraphDispatcher dispatcher_;
  CudaGraphManager manager_;
  std::optional<CascadeSetting> cascade_;
};

}  // namespace pagelab
