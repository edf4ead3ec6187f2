#include "simulator/engine/serve/serve_trace.h"

#include <time.h>

#include <algorithm>
#include <deque>

#include "reference/contract/refuse.h"

namespace pagelab {
namespace {

// Of this thread on its processor: what others do with the machine does not count.
double processor_seconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// One run of the loop
//
//     arrivals ─▶ schedule ─▶ decide, estimate ─▶ timeline        until the GPU has all that it may have at once;
//     update_from_output ◀─ tokens of the oldest step ◀─ wait     then wait for the oldest step
class Serving {
 public:
  Serving(const RequestTrace& trace,
          const ServingSettings& settings,
          const std::function<void(const StepView&)>& watch)
      : trace_(trace),
        settings_(settings),
        watch_(watch),
        scheduler_(settings.scheduler, settings.cache),
        worker_(settings.worker),
        most_in_flight_(static_cast<std::size_t>(max_concurrent_batches(settings.scheduler))),
        most_steps_without_token_(
            settings.most_steps_without_token.value_or(settings.cache.max_model_len)) {
    for (std::size_t index = 0; index < trace.requests.size(); ++index) {
      require_can_fit(trace.requests[index]);
      const TraceRequest& request = trace.requests[index];
      served_.requests.push_back(
          {.num_prompt_tokens = request.num_prompt_tokens, .arrival_us = request.arrival_us});
    }
  }

  ServedTrace run() {
    while (true) {
      add_arrivals();
      const bool is_launched = scheduler_.has_requests() && launch_step();
      if (is_launched && in_flight_.size() < most_in_flight_) continue;
      if (!in_flight_.empty()) {
        finish_oldest_step();
        continue;
      }
      if (num_arrived_ > num_finished_) refuse_stuck("nothing runs, and it cannot be admitted");
      if (num_arrived_ == trace_.requests.size()) return std::move(served_);
      timeline_.wait_until(trace_.requests[num_arrived_].arrival_us);
    }
  }

 private:
  struct StepInFlight {
    SchedulerOutput output;
    StepTimes times;
  };

  // The scheduler checks the same when a request arrives; here it is known before anything has run.
  void require_can_fit(const TraceRequest& request) const {
    const KVCacheConfig& cache = scheduler_.kv_cache_manager().config();
    const std::int64_t num_tokens =
        std::int64_t{request.num_prompt_tokens} + request.num_output_tokens;
    if (num_tokens > cache.max_model_len) {
      refuse(
          "line {} of {}: the request can never fit: {} prompt and {} output tokens are more than "
          "max_model_len {}.",
          request.line, trace_.name, request.num_prompt_tokens, request.num_output_tokens,
          cache.max_model_len);
    }
    // The last token is only output: its key is never computed.
    const std::int32_t num_needed =
        scheduler_.kv_cache_manager().max_blocks_needed(static_cast<std::int32_t>(num_tokens) - 1);
    if (num_needed < cache.num_blocks) return;
    refuse(
        "line {} of {}: the request can never fit: its {} tokens need {} blocks of {}, but {} "
        "exist "
        "(num_blocks {}, the null block included).",
        request.line, trace_.name, num_tokens - 1, num_needed, block_sizes_text(cache),
        cache.num_blocks - 1, cache.num_blocks);
  }

  [[noreturn]] void refuse_stuck(const std::string& why) const {
    std::size_t index = 0;
    while (!scheduler_.is_unfinished(static_cast<RequestId>(index))) ++index;
    refuse("request {} (line {} of {}) makes no progress after step {}: {}.", index,
           trace_.requests[index].line, trace_.name, served_.steps.size(), why);
  }

  void add_arrivals() {
    const double start = processor_seconds();
    while (num_arrived_ < trace_.requests.size() &&
           trace_.requests[num_arrived_].arrival_us <= timeline_.now_us()) {
      const TraceRequest& arrived = trace_.requests[num_arrived_];
      Request request(static_cast<RequestId>(num_arrived_), prompt_tokens(arrived),
                      arrived.num_output_tokens);
      request.tokens.reserve(request.tokens.size() + arrived.num_output_tokens);
      request.arrival_time = arrived.arrival_us / 1e6;
      scheduler_.hash_full_blocks(request);
      scheduler_.add_request(std::move(request));
      ++num_arrived_;
    }
    served_.building_seconds += processor_seconds() - start;
  }

  // Returns whether there was anything to compute.
  bool launch_step() {
    const double start = processor_seconds();
    SchedulerOutput output = scheduler_.schedule();
    served_.engine_seconds += processor_seconds() - start;
    for (const RequestId id : output.preempted_req_ids) ++served_.requests[id].num_preemptions;
    pass_news_on(output);
    if (output.total_num_scheduled_tokens == 0) return false;

    read_numbers(output);
    const StepDecision decision =
        worker_.decide(requests_, tables_, output.num_common_prefix_blocks,
                       block_size_of(settings_.cache, settings_.cache.groups[0]));
    ServedStep& step = served_.steps.emplace_back();
    describe(step, output, decision);
    for (const AdmittedRequest& admitted : output.new_requests) {
      served_.requests[admitted.id].num_hit_tokens = admitted.num_computed_tokens;
      served_.requests[admitted.id].admitted_us = step.times.schedule_start_us;
    }
    if (watch_) {
      watch_({static_cast<std::int64_t>(served_.steps.size()) - 1, output, requests_, decision,
              step, scheduler_, worker_, static_cast<std::int64_t>(num_finished_)});
    }
    in_flight_.push_back({std::move(output), step.times});
    return true;
  }

  // A step without tokens is not launched: who finished or was preempted is told with the next one.
  void pass_news_on(SchedulerOutput& output) {
    std::vector<RequestId>& finished = output.finished_req_ids;
    std::vector<RequestId>& preempted = output.preempted_req_ids;
    finished.insert(finished.begin(), untold_finished_.begin(), untold_finished_.end());
    preempted.insert(preempted.begin(), untold_preempted_.begin(), untold_preempted_.end());
    untold_finished_.clear();
    untold_preempted_.clear();
    if (output.total_num_scheduled_tokens > 0) return;
    untold_finished_ = std::move(finished);
    untold_preempted_ = std::move(preempted);
  }

  // The scheduler's entries as the worker sees them.
  void read_numbers(const SchedulerOutput& output) {
    requests_.clear();
    tables_.clear();
    for (const ScheduledTokens& part : output.scheduled) {
      requests_.push_back({.num_scheduled_tokens = part.num_tokens,
                           .num_computed_tokens = part.num_computed_tokens,
                           .num_prompt_tokens = part.request->num_prompt_tokens,
                           .num_draft_tokens = part.num_draft_tokens});
      tables_.push_back(part.request);
    }
  }

  void describe(ServedStep& step, const SchedulerOutput& output, const StepDecision& decision) {
    step.work = work_of(requests_);
    step.work.num_padded_tokens = decision.num_padded_tokens;
    step.work.cascade_prefix_len = decision.cascade_prefix_len;
    step.work.graph_mode = decision.mode;
    step.shared_prefix_len = decision.shared_prefix_len;
    step.num_tokens = output.total_num_scheduled_tokens;
    step.num_waiting = scheduler_.num_waiting();
    const BlockPool& pool = scheduler_.kv_cache_manager().pool();
    step.num_used_blocks = pool.num_blocks() - 1 - pool.num_free_blocks();
    step.num_preempted = static_cast<std::int32_t>(output.preempted_req_ids.size());
    if (settings_.step_us) {
      step.cost.gpu_us = *settings_.step_us;
    } else {
      step.cost = estimate(step.work, settings_.model, settings_.costs);
    }
    step.times = timeline_.launch(step.cost);
  }

  void finish_oldest_step() {
    const StepInFlight step = std::move(in_flight_.front());
    in_flight_.pop_front();
    timeline_.wait_for(step.times);
    sample(step.output);
    const double start = processor_seconds();
    const EngineOutput output = scheduler_.update_from_output(step.output, sampled_);
    served_.engine_seconds += processor_seconds() - start;
    for (const EngineOutput::Part& part : output.parts) {
      ServedRequest& request = served_.requests[part.id];
      if (request.num_output_tokens == 0) request.first_token_us = step.times.gpu_end_us;
      request.num_output_tokens += part.num_tokens;
      request.last_token_us = step.times.gpu_end_us;
      num_finished_ += part.is_finished ? 1 : 0;
    }
    num_steps_without_token_ = output.parts.empty() ? num_steps_without_token_ + 1 : 0;
    if (num_steps_without_token_ > most_steps_without_token_) {
      refuse_stuck(fmt::format("{} steps in a row brought no token", num_steps_without_token_));
    }
  }

  // A step ends with a token for everybody whose known tokens are all computed.
  void sample(const SchedulerOutput& output) {
    sampled_.tokens.clear();
    sampled_.start.assign(1, 0);
    for (const ScheduledTokens& part : output.scheduled) {
      if (!part.is_prefill_chunk) sampled_.tokens.push_back(kAnyOutputToken);
      sampled_.start.push_back(static_cast<std::int32_t>(sampled_.tokens.size()));
    }
  }

  const RequestTrace& trace_;
  const ServingSettings& settings_;
  const std::function<void(const StepView&)>& watch_;
  Scheduler scheduler_;
  GraphWorker worker_;
  std::size_t most_in_flight_;
  std::int64_t most_steps_without_token_;
  Timeline timeline_;
  std::deque<StepInFlight> in_flight_;
  std::size_t num_arrived_ = 0;
  std::size_t num_finished_ = 0;
  std::vector<RequestId> untold_finished_;   // since the last step that computed anything
  std::vector<RequestId> untold_preempted_;  // the same
  std::int64_t num_steps_without_token_ = 0;
  // Of the step at hand; members, so that their memory is kept.
  std::vector<ScheduledRequest> requests_;
  std::vector<const Request*> tables_;
  SampledTokens sampled_;
  ServedTrace served_;
};

}  // namespace

ServedTrace serve_trace(const RequestTrace& trace,
                        const ServingSettings& settings,
                        const std::function<void(const StepView&)>& watch) {
  return Serving(trace, settings, watch).run();
}

}  // namespace pagelab
