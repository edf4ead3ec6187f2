#include "simulator/engine/generation/step_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace pagelab {
namespace {

// Only the last generated token, fed back to find the next one, is a decode.
bool is_prefill(const ScheduledTokens& part) {
  return part.is_prefill_chunk || part.num_tokens > 1 ||
         part.num_computed_tokens < part.request->num_prompt_tokens;
}

std::string requests_of(const std::vector<std::int64_t>& req_indices) {
  return fmt::format("request{} {}", req_indices.size() > 1 ? "s" : "",
                     fmt::join(req_indices, ", "));
}

}  // namespace

std::string to_string(const StepRecord& record) {
  std::string line = fmt::format(
      "step {}: {} decode + {} prefill tokens, {} block{} in use, {} waiting", record.step_idx,
      record.num_decode_tokens, record.num_prefill_tokens, record.num_blocks_in_use,
      record.num_blocks_in_use == 1 ? "" : "s", record.num_waiting);
  if (record.num_hit_tokens > 0) {
    line += fmt::format("; {} tokens found in the prefix cache", record.num_hit_tokens);
  }
  if (!record.preempted.empty()) line += "; " + requests_of(record.preempted) + " preempted";
  if (record.cascade_prefix_len > 0) {
    line += fmt::format("; cascade over {} tokens", record.cascade_prefix_len);
  }
  if (record.graph_mode != CUDAGraphMode::kNone) {
    const std::int64_t num_tokens =
        record.num_decode_tokens + record.num_prefill_tokens + record.num_padding_tokens;
    line += fmt::format("; {} graph of {} token{}", to_string(record.graph_mode), num_tokens,
                        num_tokens == 1 ? "" : "s");
    if (record.replayed.graphs > 0) line += ", replayed";
  }
  return line;
}

StepRecord record_of(const SchedulerOutput& step) {
  StepRecord record;
  for (const ScheduledTokens& part : step.scheduled) {
    const bool prefill = is_prefill(part);
    record.scheduled.push_back({part.id, part.num_computed_tokens, part.num_tokens, prefill});
    (prefill ? record.num_prefill_tokens : record.num_decode_tokens) += part.num_tokens;
  }
  for (const auto* admitted : {&step.new_requests, &step.resumed_requests}) {
    for (const AdmittedRequest& request : *admitted) {
      record.num_hit_tokens += request.num_computed_tokens;
    }
  }
  record.preempted = step.preempted_req_ids;
  return record;
}

StepTotals totals_of(const std::vector<StepRecord>& steps) {
  StepTotals totals;
  for (const StepRecord& step : steps) {
    ++totals.num_steps;
    totals.num_hit_tokens += step.num_hit_tokens;
    totals.num_preemptions += static_cast<std::int64_t>(step.preempted.size());
    totals.num_cascade_steps += step.cascade_prefix_len > 0 ? 1 : 0;
    totals.longest_prefix = std::max(totals.longest_prefix, step.cascade_prefix_len);
    ++totals.num_steps_of_mode[static_cast<std::size_t>(step.graph_mode)];
    totals.num_replayed_graphs += step.replayed.graphs;
    totals.num_replayed_launches += step.replayed.recorded_launches;
    totals.num_padding_tokens += step.num_padding_tokens;
  }
  return totals;
}

}  // namespace pagelab
