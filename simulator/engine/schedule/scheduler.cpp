// The queues: how requests come in, are sent back, and leave.

#include "simulator/engine/schedule/scheduler.h"

#include <algorithm>

#include "reference/contract/refuse.h"

namespace pagelab {
namespace {

KVCacheConfig with_tokens_in_flight(const SchedulerConfig& config, KVCacheConfig cache) {
  validate(config, cache);
  cache.max_in_flight_tokens = max_concurrent_batches(config) * config.max_num_batched_tokens;
  return cache;
}

}  // namespace

Scheduler::Scheduler(const SchedulerConfig& config, KVCacheConfig cache)
    : config_(config),
      manager_(with_tokens_in_flight(config, std::move(cache))),
      waiting_(config.policy) {}

void Scheduler::add_request(Request request) {
  const KVCacheConfig& cache = manager_.config();
  if (requests_.contains(request.id)) {
    refuse("request {} exists already; give each request a number of its own.", request.id);
  }
  if (request.num_prompt_tokens >= cache.max_model_len) {
    refuse("request {} has a prompt of {} tokens; max_model_len {} leaves no room for output.",
           request.id, request.num_prompt_tokens, cache.max_model_len);
  }
  require_fits(request);
  hash_full_blocks(request);
  const RequestId id = request.id;
  std::unique_ptr<Request>& owned = requests_[id];
  owned = std::make_unique<Request>(std::move(request));
  waiting_.add(*owned);
}

// What can never fit would block the queue for ever.
void Scheduler::require_fits(const Request& request) const {
  const KVCacheConfig& cache = manager_.config();
  // The last token is never computed: it is only output. But each step on its way may hold drafts.
  const std::int32_t num_tokens = request.num_prompt_tokens + request.max_tokens - 1;
  const std::int32_t num_drafts = max_concurrent_batches(config_) * config_.num_speculative_tokens +
                                  config_.num_lookahead_tokens;
  const std::int32_t num_needed =
      manager_.max_blocks_needed(std::min(num_tokens + num_drafts, cache.max_model_len));
  const std::int32_t num_usable = cache.num_blocks - 1;
  if (num_needed <= num_usable) return;
  const std::string and_drafts = num_drafts > 0 ? fmt::format(" and {} drafts", num_drafts) : "";
  refuse(
      "request {} can never run: its {} tokens{} need {} blocks of {}, but {} exist (num_blocks "
      "{}, "
      "the null block included).",
      request.id, std::min(num_tokens, cache.max_model_len), and_drafts, num_needed,
      block_sizes_text(cache), num_usable, cache.num_blocks);
}

void Scheduler::abort_request(RequestId id) {
  if (!is_unfinished(id)) refuse("there is no request {} to abort. Has it finished already?", id);
  Request& request = *requests_.at(id);
  if (request.status == RequestStatus::kRunning) {
    std::erase(running_, &request);
  } else {
    waiting_.remove(request);
  }
  finish(request);
  forget_if_landed(request);
}

bool Scheduler::reset_prefix_cache(bool reset_running_requests) {
  while (reset_running_requests && !running_.empty()) {
    Request& request = *running_.back();
    running_.pop_back();
    preempt(request);
    // Their output would continue text that was computed with the old cache.
    request.num_stale_tokens = 0;
    request.num_preemptions_at_reset = request.num_preemptions;
  }
  return manager_.reset_prefix_cache();
}

bool Scheduler::is_unfinished(RequestId id) const {
  const auto found = requests_.find(id);
  return found != requests_.end() && found->second->status != RequestStatus::kFinished;
}

bool Scheduler::has_requests() const {
  return !running_.empty() || !waiting_.empty() || !finished_req_ids_.empty();
}

// Recompute, do not swap: the request starts over, from what the prefix cache still holds of it.
void Scheduler::preempt(Request& request) {
  manager_.free(request);
  request.status = RequestStatus::kPreempted;
  request.num_computed_tokens = 0;
  request.num_draft_tokens = 0;
  request.num_output_placeholders = 0;
  request.num_stale_tokens = request.num_in_flight_tokens;
  ++request.num_preemptions;
  preempted_req_ids_.push_back(request.id);
  waiting_.prepend(request);
}

void Scheduler::finish(Request& request) {
  manager_.free(request);
  request.status = RequestStatus::kFinished;
  finished_req_ids_.push_back(request.id);
}

// A finished request's state is kept until no step that names it is on its way.
void Scheduler::forget_if_landed(Request& request) {
  const bool is_landed =
      request.status == RequestStatus::kFinished && request.num_in_flight_tokens == 0;
  if (is_landed) requests_.erase(request.id);
}

}  // namespace pagelab
