// update_from_output(): what the model sampled, and what becomes of the requests.

#include <algorithm>

#include "reference/contract/refuse.h"
#include "simulator/engine/schedule/scheduler.h"

namespace pagelab {
namespace {

std::span<const TokenId> tokens_of(const SampledTokens& sampled, std::size_t index) {
  return std::span(sampled.tokens)
      .subspan(sampled.start[index], sampled.start[index + 1] - sampled.start[index]);
}

void check_sampled(const SchedulerOutput& step, const SampledTokens& sampled) {
  const std::size_t num_scheduled = step.scheduled.size();
  const bool has_all_starts =
      sampled.start.size() == num_scheduled + 1 && sampled.start.front() == 0 &&
      sampled.start.back() == static_cast<std::int32_t>(sampled.tokens.size());
  if (!has_all_starts) {
    refuse(
        "start has {} entries and must have {}, from 0 to the {} tokens: one for each scheduled "
        "request, and the end.",
        sampled.start.size(), num_scheduled + 1, sampled.tokens.size());
  }
  for (std::size_t index = 0; index < num_scheduled; ++index) {
    const ScheduledTokens& part = step.scheduled[index];
    const std::int32_t num_tokens = sampled.start[index + 1] - sampled.start[index];
    const std::int32_t most = part.is_prefill_chunk ? 0 : 1 + part.num_draft_tokens;
    if (num_tokens < 0 || num_tokens > most) {
      refuse("request {} has {} sampled tokens; with {} drafts{} it may have 0 to {}.", part.id,
             num_tokens, part.num_draft_tokens, part.is_prefill_chunk ? " in a prefill chunk" : "",
             most);
    }
  }
}

// Drafts that were rejected were not computed, after all.
void take_back_rejected(const ScheduledTokens& part, std::int32_t num_sampled, Request& request) {
  if (part.num_draft_tokens == 0 || num_sampled == 0) return;
  const std::int32_t num_rejected = part.num_draft_tokens - (num_sampled - 1);
  if (request.num_computed_tokens > 0) request.num_computed_tokens -= num_rejected;
  if (request.num_output_placeholders > 0) request.num_output_placeholders -= num_rejected;
}

}  // namespace

EngineOutput Scheduler::update_from_output(const SchedulerOutput& step,
                                           const SampledTokens& sampled) {
  check_sampled(step, sampled);
  EngineOutput output;
  output.parts.reserve(step.scheduled.size());
  output.tokens.reserve(sampled.tokens.size());
  bool has_finished = false;
  for (std::size_t index = 0; index < step.scheduled.size(); ++index) {
    const ScheduledTokens& part = step.scheduled[index];
    Request& request = *part.request;
    const std::span<const TokenId> tokens = tokens_of(sampled, index);
    const bool is_preempted_since = part.num_preemptions != request.num_preemptions;
    request.num_in_flight_tokens -= part.num_tokens;
    if (is_preempted_since) {
      request.num_stale_tokens = std::max(0, request.num_stale_tokens - part.num_tokens);
    }
    const bool is_dropped = part.num_preemptions < request.num_preemptions_at_reset;
    if (request.status == RequestStatus::kFinished || is_dropped) {
      forget_if_landed(request);
      continue;
    }

    // Step 1: take back what was counted too optimistically.
    if (!is_preempted_since) {
      take_back_rejected(part, static_cast<std::int32_t>(tokens.size()), request);
    }

    // Step 2: append the tokens, up to the one that ends the request.
    const std::int32_t num_appended = append_until_stopped(request, tokens);
    if (num_appended == 0) continue;
    const bool is_finished = is_stopped(request);

    // Step 3: the tokens are known now, so their places are taken, and full blocks can be shared.
    if (config_.async_scheduling && !is_preempted_since) {
      request.num_output_placeholders -= num_appended;
      manager_.cache_blocks(request, request.num_computed_tokens - request.num_output_placeholders);
    }

    // Step 4: report, and let go of what is finished.
    const auto first = static_cast<std::int32_t>(output.tokens.size());
    output.parts.push_back({request.id, first, num_appended, is_finished});
    output.tokens.insert(output.tokens.end(), tokens.begin(), tokens.begin() + num_appended);
    if (!is_finished) continue;
    if (request.status != RequestStatus::kRunning) waiting_.remove(request);
    finish(request);
    has_finished = true;
  }
  if (has_finished) {
    std::erase_if(running_, [](const Request* request) {
      return request->status == RequestStatus::kFinished;
    });
    for (const EngineOutput::Part& part : output.parts) {
      if (part.is_finished) forget_if_landed(*requests_.at(part.id));
    }
  }
  return output;
}

// Returns how many tokens were appended; those behind the end are dropped.
std::int32_t Scheduler::append_until_stopped(Request& request, std::span<const TokenId> tokens) {
  std::int32_t num_appended = 0;
  for (const TokenId token : tokens) {
    request.tokens.push_back(token);
    ++num_appended;
    if (is_stopped(request)) break;
  }
  if (num_appended > 0) manager_.hash_full_blocks(request);
  return num_appended;
}

bool Scheduler::is_stopped(const Request& request) const {
  const std::vector<TokenId>& stops = request.stop_token_ids;
  const bool is_stop_token = request.num_output_tokens() > 0 &&
                             std::count(stops.begin(), stops.end(), request.tokens.back()) > 0;
  return is_stop_token || request.num_tokens() >= manager_.config().max_model_len ||
         request.num_output_tokens() >= request.max_tokens;
}

void Scheduler::update_draft_tokens(const SchedulerOutput& step) {
  for (const ScheduledTokens& part : step.scheduled) {
    const auto found = requests_.find(part.id);
    if (found == requests_.end()) continue;
    Request& request = *found->second;
    const bool goes_on_decoding =
        request.status == RequestStatus::kRunning && !request.is_prefill_chunk;
    if (goes_on_decoding) request.num_draft_tokens = config_.num_speculative_tokens;
  }
}

}  // namespace pagelab
