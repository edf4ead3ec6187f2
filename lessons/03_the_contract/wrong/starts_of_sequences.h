// Wrong in task 1: computed tokens are counted as if they were in the batch.
// Everything else is the solution's.
#pragma once

#define query_start_loc_of right_query_start_loc_of
#include "lessons/03_the_contract/solution.h"
#undef query_start_loc_of

namespace pagelab::lesson_03 {

inline std::vector<std::int32_t> query_start_loc_of(const std::vector<ScheduledRequest>& requests) {
  std::vector<std::int32_t> starts = {0};
  for (const ScheduledRequest& request : requests) {
    starts.push_back(starts.back() + request.num_computed_tokens + request.num_scheduled_tokens);
  }
  return starts;
}

}  // namespace pagelab::lesson_03
