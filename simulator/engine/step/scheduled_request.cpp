#include "simulator/engine/step/scheduled_request.h"

#include "reference/contract/refuse.h"
#include "simulator/engine/in_range.h"

namespace pagelab {

void require_sound(const std::vector<ScheduledRequest>& requests) {
  for (std::size_t req_idx = 0; req_idx < requests.size(); ++req_idx) {
    const ScheduledRequest& request = requests[req_idx];
    if (request.num_scheduled_tokens < 1) {
      refuse("request {} has {} scheduled tokens; a request of a batch has at least 1.", req_idx,
             request.num_scheduled_tokens);
    }
    if (request.num_computed_tokens < 0 || request.num_prompt_tokens < 0) {
      refuse("request {} has {} computed and {} prompt tokens; neither may be negative.", req_idx,
             request.num_computed_tokens, request.num_prompt_tokens);
    }
    require_in_range("num_scheduled_tokens", request.num_scheduled_tokens, 1, kMostTokens);
    require_in_range("num_computed_tokens", request.num_computed_tokens, 0, kMostTokens);
    if (request.num_draft_tokens < 0 || request.num_draft_tokens >= request.num_scheduled_tokens) {
      refuse("request {} has {} draft tokens among {} scheduled ones; at least one is no draft.",
             req_idx, request.num_draft_tokens, request.num_scheduled_tokens);
    }
  }
}

}  // namespace pagelab
