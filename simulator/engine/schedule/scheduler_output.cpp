#include "simulator/engine/schedule/scheduler_output.h"

#include <fmt/format.h>

#include <algorithm>

namespace pagelab {
namespace {

constexpr std::size_t kShown = 8;  // of each list; a debugger's line is not wider

// "; what 1 [15 16], 4 [7]" for each of some requests with blocks.
template <typename Blocks>
void add_blocks(std::string& text, const char* what, const std::vector<Blocks>& requests) {
  for (std::size_t index = 0; index < std::min(kShown, requests.size()); ++index) {
    text += index == 0 ? fmt::format("; {}", what) : ",";
    text += fmt::format(" {}", requests[index].id);
    for (const std::vector<BlockId>& ids : requests[index].block_ids) {
      const std::span<const BlockId> shown(ids.data(), std::min(kShown, ids.size()));
      text += fmt::format(" [{}{}]", fmt::join(shown, " "), ids.size() > kShown ? " ..." : "");
    }
  }
  if (requests.size() > kShown) text += ", ...";
}

void add_ids(std::string& text, const char* what, const std::vector<RequestId>& ids) {
  if (!ids.empty()) text += fmt::format("; {} {}", what, fmt::join(ids, ", "));
}

}  // namespace

std::string to_string(const SchedulerOutput& output) {
  std::string text = fmt::format("{} tokens", output.total_num_scheduled_tokens);
  for (std::size_t index = 0; index < std::min(kShown, output.scheduled.size()); ++index) {
    const ScheduledTokens& part = output.scheduled[index];
    text += fmt::format("{} {}: {} from {}{}", index == 0 ? ":" : ",", part.id, part.num_tokens,
                        part.num_computed_tokens, part.is_prefill_chunk ? " (chunk)" : "");
    if (part.num_draft_tokens > 0) text += fmt::format(" ({} drafts)", part.num_draft_tokens);
  }
  if (output.scheduled.size() > kShown) text += ", ...";
  add_blocks(text, "new", output.new_requests);
  add_blocks(text, "resumed", output.resumed_requests);
  add_blocks(text, "grown", output.new_blocks);
  add_ids(text, "preempted", output.preempted_req_ids);
  add_ids(text, "finished", output.finished_req_ids);
  return text;
}

}  // namespace pagelab
