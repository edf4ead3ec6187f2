// Wrong in task 3: every chunk starts at position 0 and overwrites the context.
// Everything else is the solution's.
#pragma once

#define slot_mapping_of right_slot_mapping_of
#include "lessons/03_the_contract/solution.h"
#undef slot_mapping_of

namespace pagelab::lesson_03 {

inline std::vector<std::int64_t> slot_mapping_of(const std::vector<ScheduledRequest>& requests,
                                                 std::int64_t block_size,
                                                 std::int64_t num_tokens) {
  std::vector<ScheduledRequest> all_new = requests;
  for (ScheduledRequest& request : all_new) request.num_computed_tokens = 0;
  return right_slot_mapping_of(all_new, block_size, num_tokens);
}

}  // namespace pagelab::lesson_03
