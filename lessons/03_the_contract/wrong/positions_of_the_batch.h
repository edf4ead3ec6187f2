// Wrong in task 3: positions go on from one request to the next, as token_idx does.
// Everything else is the solution's.
#pragma once

#define slot_mapping_of right_slot_mapping_of
#include "lessons/03_the_contract/solution.h"
#undef slot_mapping_of

namespace pagelab::lesson_03 {

inline std::vector<std::int64_t> slot_mapping_of(const std::vector<ScheduledRequest>& requests,
                                                 std::int64_t block_size,
                                                 std::int64_t num_tokens) {
  std::vector<std::int64_t> slots;
  for (const ScheduledRequest& request : requests) {
    for (std::int64_t i = 0; i < request.num_scheduled_tokens; ++i) {
      const std::int64_t position =
          request.num_computed_tokens + static_cast<std::int64_t>(slots.size());
      const std::int64_t block = request.blocks[position / block_size % request.blocks.size()];
      slots.push_back(block * block_size + position % block_size);
    }
  }
  slots.resize(num_tokens, kNoSlot);
  return slots;
}

}  // namespace pagelab::lesson_03
