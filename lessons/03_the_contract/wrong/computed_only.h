// Wrong in task 2: this step's tokens are left out, so no token would see itself.
// Everything else is the solution's.
#pragma once

#define seq_lens_of right_seq_lens_of
#include "lessons/03_the_contract/solution.h"
#undef seq_lens_of

namespace pagelab::lesson_03 {

inline std::vector<std::int32_t> seq_lens_of(const std::vector<ScheduledRequest>& requests) {
  std::vector<std::int32_t> seq_lens;
  for (const ScheduledRequest& request : requests) seq_lens.push_back(request.num_computed_tokens);
  return seq_lens;
}

}  // namespace pagelab::lesson_03
