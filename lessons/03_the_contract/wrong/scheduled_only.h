// Wrong in task 2: the context is left out: right for new prompts alone.
// Everything else is the solution's.
#pragma once

#define seq_lens_of right_seq_lens_of
#include "lessons/03_the_contract/solution.h"
#undef seq_lens_of

namespace pagelab::lesson_03 {

inline std::vector<std::int32_t> seq_lens_of(const std::vector<ScheduledRequest>& requests) {
  std::vector<std::int32_t> seq_lens;
  for (const ScheduledRequest& request : requests) seq_lens.push_back(request.num_scheduled_tokens);
  return seq_lens;
}

}  // namespace pagelab::lesson_03
