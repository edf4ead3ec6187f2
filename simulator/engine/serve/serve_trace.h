/// \file
/// Serves a trace: requests arrive at their times, the scheduler batches them, the worker decides how each step
/// runs, and the timeline says how long that takes. The tokens themselves are made up: what a step decides does not
/// depend on them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "simulator/engine/schedule/scheduler.h"
#include "simulator/engine/serve/graph_worker.h"
#include "simulator/engine/timeline/step_cost.h"
#include "simulator/engine/timeline/timeline.h"
#include "simulator/engine/trace/request_trace.h"

namespace pagelab {

/// How a trace is served.
struct ServingSettings {
  SchedulerConfig scheduler;           ///< the engine
  KVCacheConfig cache;                 ///< its pool
  GraphWorkerSettings worker;          ///< graphs and cascade
  ServedModel model;                   ///< whose steps are timed
  TimelineCosts costs;                 ///< how long their parts take
  std::optional<double> step_us = {};  ///< each step takes so long, whatever the costs say
  /// Steps in a row that may bring no token; none: as many as a request has at most, since each step
  /// computes at least one token of the request that has run longest.
  std::optional<std::int64_t> most_steps_without_token = {};
};

/// What is kept of every step.
struct ServedStep {
  StepWork work;                       ///< the batch's shape, its graph and cascade
  std::int64_t num_tokens = 0;         ///< scheduled: without padding
  std::int64_t shared_prefix_len = 0;  ///< tokens that all its requests share (StepDecision)
  StepCost cost;                       ///< its parts
  StepTimes times;                     ///< in time
  std::int32_t num_waiting = 0;        ///< requests left in the queue
  std::int32_t num_used_blocks = 0;    ///< of the pool, once the step was scheduled
  std::int32_t num_preempted = 0;      ///< requests that lost their blocks before it
};

/// What became of one request; times since the trace began.
struct ServedRequest {
  std::int32_t num_prompt_tokens = 0;  ///< as in the trace
  std::int32_t num_output_tokens = 0;  ///< so far
  std::int32_t num_hit_tokens = 0;     ///< of the prompt, found in the prefix cache at admission
  std::int32_t num_preemptions = 0;    ///< how often it lost its blocks
  double arrival_us = 0;               ///< it came
  double admitted_us = 0;              ///< its first step was scheduled
  double first_token_us = 0;           ///< its first token was there
  double last_token_us = 0;            ///< its last token was there
};

/// A served trace.
struct ServedTrace {
  std::vector<ServedStep> steps;        ///< in order
  std::vector<ServedRequest> requests;  ///< in the trace's order
  double engine_seconds = 0;    ///< on this processor: schedule() and update_from_output() alone
  double building_seconds = 0;  ///< on this processor: making requests, and naming their prefixes
};

/// What somebody who watches sees after each step was scheduled.
struct StepView {
  std::int64_t index;                             ///< 0: the first step
  const SchedulerOutput& output;                  ///< the scheduler's decision
  const std::vector<ScheduledRequest>& requests;  ///< its numbers, in the same order
  const StepDecision& decision;                   ///< the worker's
  const ServedStep& step;                         ///< what is kept
  const Scheduler& scheduler;                     ///< the engine, as it is now
  const GraphWorker& worker;                      ///< the worker
  std::int64_t num_finished;                      ///< requests that are done
};

/// Serves a trace to its end.
/// \param trace     requests; the request at place i gets number i
/// \param settings  engine, worker and costs
/// \param watch     is called after each step was scheduled; may be empty
/// \throws Error    if a setting is out of range, if a request can never fit (naming its line), before anything runs; or
///                  if nothing goes on any more (naming the request)
ServedTrace serve_trace(const RequestTrace& trace,
                        const ServingSettings& settings,
                        const std::function<void(const StepView&)>& watch = {});

}  // namespace pagelab
