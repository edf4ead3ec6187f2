/// \file
/// The scheduler: which requests run in the next step, and with how many tokens each. It knows no
/// prefill phase and no decode phase: every request has tokens that are computed and tokens that are
/// not, and each step lets it catch up by as many as the budget and the blocks allow.
///
///     add_request ─▶ waiting ──admitted──▶ running ──stopped──▶ finished
///                       ▲                     │
///                       └──── preempted ──────┘
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulator/engine/cache/kv_cache_manager.h"
#include "simulator/engine/request.h"
#include "simulator/engine/schedule/scheduler_config.h"
#include "simulator/engine/schedule/scheduler_output.h"
#include "simulator/engine/schedule/waiting_queue.h"

namespace pagelab {

/// Schedules steps. The loop around it is
///
///     SchedulerOutput step = scheduler.schedule();
///     EngineOutput out = scheduler.update_from_output(step, sampled);   // by whoever ran the model
///     scheduler.update_draft_tokens(step);                              // synchronous, with drafts
///
/// and, where it is asynchronous, calls schedule once more before the output of the step before is in.
/// \source vLLM v1/core/sched/scheduler.py and async_scheduler.py
class Scheduler {
 public:
  /// \param config  how to schedule
  /// \param cache   its cache; max_in_flight_tokens follows from config and is set here
  /// \throws Error  naming the field that is out of range
  Scheduler(const SchedulerConfig& config, KVCacheConfig cache);

  /// Names the full blocks of a request that is not added yet. add_request does it where it was not
  /// done; whoever measures scheduling does it before.
  void hash_full_blocks(Request& request) { manager_.hash_full_blocks(request); }

  /// Queues a request.
  /// \throws Error  if its number is taken, or if it can never run: the sentence says what it needs
  void add_request(Request request);

  /// Ends a request. Its blocks are free at once; output of it that is still to come is ignored.
  /// \throws Error  if there is no such request
  void abort_request(RequestId id);

  /// Empties the prefix cache, if no request holds a block.
  /// \param reset_running_requests  preempt all running requests first, and drop their coming output
  /// \returns                       whether the cache is empty
  bool reset_prefix_cache(bool reset_running_requests);

  /// Chooses the next step's requests and tokens, and gives them blocks.
  SchedulerOutput schedule();

  /// Takes what a step's model run has sampled.
  /// \param step     of an earlier call of schedule; steps come back in their order
  /// \param sampled  its tokens
  /// \throws Error   if the numbers of requests differ, or a request has more tokens than it may
  EngineOutput update_from_output(const SchedulerOutput& step, const SampledTokens& sampled);

  /// New drafts for the requests of a step that go on decoding (synchronous loops).
  void update_draft_tokens(const SchedulerOutput& step);

  /// Whether anything is left to do: a request, or the news of one that has finished.
  bool has_requests() const;

  /// Whether a request waits or runs.
  bool is_unfinished(RequestId id) const;
  /// Requests that run.
  std::span<Request* const> running() const { return running_; }
  /// How many wait.
  std::int32_t num_waiting() const { return waiting_.size(); }
  /// The blocks.
  const KVCacheManager& kv_cache_manager() const { return manager_; }
  /// The settings.
  const SchedulerConfig& config() const { return config_; }

 private:
  struct StepInTheMaking;

  void require_fits(const Request& request) const;

  // schedule(), in its order (schedule_step.cpp)
  void schedule_running(StepInTheMaking& step);
  void schedule_waiting(StepInTheMaking& step);
  void advance_scheduled(SchedulerOutput& output);
  bool is_certain_to_finish(const Request& request) const;
  std::int32_t num_wanted_running(const Request& request, const StepInTheMaking& step) const;
  bool allocate_or_preempt(StepInTheMaking& step, Request& request, std::int32_t num_tokens);
  bool admit(StepInTheMaking& step, Request& request);
  std::int32_t num_wanted_waiting(const Request& request,
                                  const PrefixHit& hit,
                                  const StepInTheMaking& step) const;
  Request& choose_victim() const;
  void take_back(StepInTheMaking& step, const Request& victim);
  void preempt(Request& request);

  // update_from_output(), per request (update_from_output.cpp)
  std::int32_t append_until_stopped(Request& request, std::span<const TokenId> tokens);
  bool is_stopped(const Request& request) const;
  void finish(Request& request);
  void forget_if_landed(Request& request);

  SchedulerConfig config_;
  KVCacheManager manager_;
  std::unordered_map<RequestId, std::unique_ptr<Request>> requests_;  // finished ones: in flight
  WaitingQueue waiting_;
  std::vector<Request*> running_;
  std::vector<RequestId> finished_req_ids_;   // since the last step
  std::vector<RequestId> preempted_req_ids_;  // since the last step
};

}  // namespace pagelab
