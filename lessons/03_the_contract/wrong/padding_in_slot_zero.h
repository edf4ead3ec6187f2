// Wrong in task 3: padding is stored in slot 0, over somebody's first token.
// Everything else is the solution's.
#pragma once

#define slot_mapping_of right_slot_mapping_of
#include "lessons/03_the_contract/solution.h"
#undef slot_mapping_of

namespace pagelab::lesson_03 {

inline std::vector<std::int64_t> slot_mapping_of(const std::vector<ScheduledRequest>& requests,
                                                 std::int64_t block_size,
                                                 std::int64_t num_tokens) {
  std::vector<std::int64_t> slots = right_slot_mapping_of(requests, block_size, num_tokens);
  for (std::int64_t& slot : slots) slot = std::max<std::int64_t>(slot, 0);
  return slots;
}

}  // namespace pagelab::lesson_03
