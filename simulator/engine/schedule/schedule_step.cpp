// schedule(): one step's requests and tokens.

#include <algorithm>

#include "simulator/engine/schedule/scheduler.h"

namespace pagelab {

struct Scheduler::StepInTheMaking {
  SchedulerOutput output;
  std::int32_t budget;               // tokens that the step still takes
  std::int32_t long_threshold;       // most tokens of one request; 0: no limit
  std::size_t next_running = 0;      // place in running_ of the request that is looked at
  bool has_preempted = false;        // somebody lost its blocks
  bool has_running_prefill = false;  // a running request computes known tokens other than its last
  bool has_running = false;          // a running request is in the step

  // How many of `wanted` tokens one request gets.
  std::int32_t cut_by_threshold(std::int32_t wanted) const {
    return long_threshold > 0 ? std::min(wanted, long_threshold) : wanted;
  }

  void add(Request& request, std::int32_t num_tokens, std::int32_t num_draft_tokens) {
    budget -= num_tokens;
    output.scheduled.push_back({request.id, num_tokens, num_draft_tokens,
                                request.num_computed_tokens, /*is_prefill_chunk=*/false,
                                request.num_preemptions, &request});
  }
};

namespace {

// The blocks that were appended last to a request's tables, in each group.
std::vector<std::vector<BlockId>> new_blocks(const Request& request) {
  std::vector<std::vector<BlockId>> block_ids;
  for (const GroupBlocks& group : request.groups) {
    block_ids.emplace_back(group.blocks.end() - group.num_new_blocks, group.blocks.end());
  }
  return block_ids;
}

std::vector<std::vector<BlockId>> all_blocks(const Request& request) {
  std::vector<std::vector<BlockId>> block_ids;
  for (const GroupBlocks& group : request.groups) block_ids.push_back(group.blocks);
  return block_ids;
}

bool has_new_blocks(const Request& request) {
  return std::any_of(request.groups.begin(), request.groups.end(),
                     [](const GroupBlocks& group) { return group.num_new_blocks > 0; });
}

}  // namespace

SchedulerOutput Scheduler::schedule() {
  StepInTheMaking step;
  step.budget = config_.max_num_scheduled_tokens.value_or(config_.max_num_batched_tokens);
  // A long prompt is held back only if there is somebody to hold it back for.
  const auto num_reqs = static_cast<std::int32_t>(running_.size()) + waiting_.size();
  step.long_threshold = num_reqs > 1 ? config_.long_prefill_token_threshold : 0;
  if (step.long_threshold > 0 && config_.long_prefill_token_threshold_adaptive) {
    step.long_threshold = std::max(step.long_threshold, config_.max_num_batched_tokens / num_reqs);
  }
  step.output.scheduled.reserve(running_.size() + 1);

  schedule_running(step);
  // Blocks that were just taken from somebody are not given to a newcomer.
  if (!step.has_preempted) schedule_waiting(step);

  SchedulerOutput& output = step.output;
  if (!running_.empty()) {
    output.num_common_prefix_blocks = manager_.get_num_common_prefix_blocks(*running_.front());
  }
  output.preempted_req_ids.swap(preempted_req_ids_);
  output.finished_req_ids.swap(finished_req_ids_);
  advance_scheduled(output);
  return std::move(output);
}

void Scheduler::schedule_running(StepInTheMaking& step) {
  while (step.next_running < running_.size() && step.budget > 0) {
    Request& request = *running_[step.next_running];
    const std::int32_t num_tokens = num_wanted_running(request, step);
    // Not strictly first come, first served: whoever has nothing to do now is passed over.
    if (num_tokens <= 0) {
      ++step.next_running;
      continue;
    }
    if (!allocate_or_preempt(step, request, num_tokens)) break;
    ++step.next_running;

    // A cut takes drafts first: they are the last tokens.
    const std::int32_t num_drafts =
        std::clamp(request.num_computed_tokens + num_tokens - request.num_tokens() -
                       request.num_output_placeholders,
                   0, request.num_draft_tokens);
    request.num_draft_tokens = 0;
    step.has_running = true;
    step.has_running_prefill |= request.is_prefill_chunk;
    step.add(request, num_tokens, num_drafts);
    if (has_new_blocks(request)) {
      step.output.new_blocks.push_back({request.id, new_blocks(request)});
    }
  }
}

std::int32_t Scheduler::num_wanted_running(const Request& request,
                                           const StepInTheMaking& step) const {
  if (is_certain_to_finish(request)) return 0;
  std::int32_t wanted = request.num_tokens_with_drafts() + request.num_output_placeholders -
                        request.num_computed_tokens;
  wanted = std::min(step.cut_by_threshold(wanted), step.budget);
  // Drafts may not reach past the longest sequence.
  return std::min(wanted, manager_.config().max_model_len - 1 - request.num_computed_tokens);
}

// Asynchronous: whether the output that is still to come ends the request, even if all drafts are
// rejected. Placeholders count one token for each step on its way, and the drafts.
bool Scheduler::is_certain_to_finish(const Request& request) const {
  return request.num_output_placeholders > 0 &&
         request.num_computed_tokens + 2 - request.num_output_placeholders >=
             request.num_prompt_tokens + request.max_tokens;
}

// Takes blocks from others until there are enough. Returns false if the request itself had to go.
bool Scheduler::allocate_or_preempt(StepInTheMaking& step,
                                    Request& request,
                                    std::int32_t num_tokens) {
  SlotsWanted wanted;
  wanted.num_new_tokens = num_tokens;
  wanted.num_lookahead_tokens = config_.num_lookahead_tokens;
  while (!manager_.allocate_slots(request, wanted)) {
    Request& victim = choose_victim();
    take_back(step, victim);
    preempt(victim);
    step.has_preempted = true;
    if (&victim == &request) return false;
  }
  return true;
}

Request& Scheduler::choose_victim() const {
  if (config_.policy == SchedulingPolicy::kFcfs) return *running_.back();
  return **std::max_element(
      running_.begin(), running_.end(),
      [](const Request* one, const Request* other) { return goes_before(*one, *other); });
}

// Removes a victim from the running requests and from the step, if it was scheduled already.
void Scheduler::take_back(StepInTheMaking& step, const Request& victim) {
  const auto place = std::find(running_.begin(), running_.end(), &victim);
  const bool was_looked_at = static_cast<std::size_t>(place - running_.begin()) < step.next_running;
  if (was_looked_at) --step.next_running;
  running_.erase(place);

  std::vector<ScheduledTokens>& scheduled = step.output.scheduled;
  const auto entry =
      std::find_if(scheduled.begin(), scheduled.end(),
                   [&](const ScheduledTokens& part) { return part.request == &victim; });
  if (entry == scheduled.end()) return;
  step.budget += entry->num_tokens;
  scheduled.erase(entry);
  std::erase_if(step.output.new_blocks,
                [&](const NewBlocks& blocks) { return blocks.id == victim.id; });
}

void Scheduler::schedule_waiting(StepInTheMaking& step) {
  const std::int32_t max_running = config_.max_num_active_seqs.value_or(config_.max_num_seqs);
  std::vector<Request*> set_aside;
  while (!waiting_.empty() && step.budget > 0 &&
         static_cast<std::int32_t>(running_.size()) < max_running) {
    Request& request = waiting_.front();
    // It may not start over before its old output is in, which may even finish it.
    if (request.num_stale_tokens > 0) {
      set_aside.push_back(&request);
      waiting_.pop_front();
      continue;
    }
    // Nobody overtakes the first one that does not fit.
    if (!admit(step, request)) break;
  }
  for (auto request = set_aside.rbegin(); request != set_aside.rend(); ++request) {
    waiting_.prepend(**request);
  }
}

bool Scheduler::admit(StepInTheMaking& step, Request& request) {
  const PrefixHit hit = manager_.get_computed_blocks(request);
  SlotsWanted wanted;
  wanted.num_new_tokens = num_wanted_waiting(request, hit, step);
  wanted.num_lookahead_tokens = config_.num_lookahead_tokens;
  wanted.full_sequence_must_fit = config_.scheduler_reserve_full_isl;
  wanted.has_scheduled_reqs = !running_.empty();
  if (wanted.num_new_tokens == 0 || !manager_.allocate_slots(request, wanted, &hit)) return false;

  waiting_.pop_front();
  running_.push_back(&request);
  const bool is_resumed = request.status == RequestStatus::kPreempted;
  request.status = RequestStatus::kRunning;
  request.num_computed_tokens = hit.num_tokens;
  const std::int32_t num_drafts =
      std::max(0, hit.num_tokens + wanted.num_new_tokens - request.num_tokens());
  step.add(request, wanted.num_new_tokens, num_drafts);
  std::vector<AdmittedRequest>& admitted =
      is_resumed ? step.output.resumed_requests : step.output.new_requests;
  admitted.push_back({request.id, hit.num_tokens, all_blocks(request)});
  return true;
}

// Tokens that a waiting request would compute; 0 if it has to wait.
std::int32_t Scheduler::num_wanted_waiting(const Request& request,
                                           const PrefixHit& hit,
                                           const StepInTheMaking& step) const {
  // All known tokens: a resumed request computes its own output again.
  const std::int32_t wanted = request.num_tokens() - hit.num_tokens;
  // One token is a decode. Among decodes with drafts it gets placeholders for as many, so that
  // all requests of the step have the same number of queries.
  const std::int32_t padded = 1 + config_.num_speculative_tokens;
  const bool joins_decodes = !step.has_running_prefill &&
                             (step.has_running || hit.num_tokens > 0) &&
                             hit.num_tokens + padded <= manager_.config().max_model_len;
  if (wanted == 1 && padded > 1 && joins_decodes) return padded <= step.budget ? padded : 0;
  const std::int32_t cut = step.cut_by_threshold(wanted);
  if (!config_.enable_chunked_prefill && cut > step.budget) return 0;
  return std::min(cut, step.budget);
}

// The step counts as computed from now on; what turns out wrong is taken back when its output is in.
void Scheduler::advance_scheduled(SchedulerOutput& output) {
  for (ScheduledTokens& part : output.scheduled) {
    Request& request = *part.request;
    output.total_num_scheduled_tokens += part.num_tokens;
    request.num_computed_tokens += part.num_tokens;
    request.num_in_flight_tokens += part.num_tokens;
    part.is_prefill_chunk =
        request.num_computed_tokens < request.num_tokens() + request.num_output_placeholders;
    request.is_prefill_chunk = part.is_prefill_chunk;
    if (!config_.async_scheduling || part.is_prefill_chunk) continue;
    // The next step is scheduled before this one's tokens are known: places are kept for them.
    request.num_output_placeholders += 1 + part.num_draft_tokens;
    request.num_draft_tokens = config_.num_speculative_tokens;
  }
}

}  // namespace pagelab
