/// \file
/// What one step of generating text did, for people and for tests; and what all of them did together.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "simulator/engine/cudagraph/cudagraph_mode.h"
#include "simulator/engine/cudagraph/step_graphs.h"
#include "simulator/engine/schedule/scheduler_output.h"

namespace pagelab {

/// One request's part of a step.
struct GeneratedPart {
  std::int64_t req_idx = 0;              ///< as add_request returned it
  std::int64_t num_computed_tokens = 0;  ///< in the cache before the step
  std::int64_t num_tokens = 0;           ///< computed in this step
  bool is_prefill = false;               ///< else the last generated token, fed back
};

/// What one step did.
struct StepRecord {
  std::int64_t step_idx = 0;             ///< counted from 0
  std::vector<GeneratedPart> scheduled;  ///< in the scheduler's order
  /// Tokens that were known already: of prompts, and of a text that starts over after a preemption.
  std::int64_t num_prefill_tokens = 0;
  std::int64_t num_decode_tokens = 0;   ///< generated tokens fed back
  std::int64_t num_hit_tokens = 0;      ///< found in the prefix cache by those admitted in it
  std::int64_t num_blocks_in_use = 0;   ///< held by requests during the step
  std::int64_t num_waiting = 0;         ///< requests that are not running
  std::vector<std::int64_t> preempted;  ///< requests that lost their blocks for it
  std::vector<std::int64_t> finished;   ///< requests whose text ended in it
  std::int64_t cascade_prefix_len = 0;  ///< tokens read once for all requests; 0: no cascade
  CUDAGraphMode graph_mode = CUDAGraphMode::kNone;  ///< NONE, PIECEWISE or FULL
  /// What was replayed; nothing, if the step only has the size of the graph.
  StepGraphs::Counts replayed;
  std::int64_t num_padding_tokens = 0;  ///< computed for nobody, up to the graph's size
};

/// One line: "step 3: 2 decode + 14 prefill tokens, 9 blocks in use, 1 waiting", and what happened besides:
/// "; 32 tokens found in the prefix cache; request 1 preempted; cascade over 256 tokens; FULL graph of 8 tokens". Where a
/// graph was recorded, the line ends in ", replayed"; else the step was padded to its size and computed.
std::string to_string(const StepRecord& record);

/// What a step did, before its output is in: cascade and graph are the worker's to say.
/// \param step  as the scheduler gave it
StepRecord record_of(const SchedulerOutput& step);

/// All steps together.
struct StepTotals {
  std::int64_t num_steps = 0;          ///< so many
  std::int64_t num_hit_tokens = 0;     ///< found in the prefix cache
  std::int64_t num_preemptions = 0;    ///< requests that lost their blocks, each time counted
  std::int64_t num_cascade_steps = 0;  ///< steps that read a shared prefix once
  std::int64_t longest_prefix = 0;     ///< tokens of the longest one of those
  std::array<std::int64_t, 3> num_steps_of_mode = {};  ///< [NONE, PIECEWISE, FULL]
  std::int64_t num_replayed_graphs = 0;    ///< a FULL step is one graph, a PIECEWISE one several
  std::int64_t num_replayed_launches = 0;  ///< kernels in them
  std::int64_t num_padding_tokens = 0;     ///< computed for nobody
};

/// Adds steps up.
StepTotals totals_of(const std::vector<StepRecord>& steps);

}  // namespace pagelab
