// Wrong in task 5: a slot of -1 inside the batch is called a mistake; it stores nothing.
// Everything else is the solution's.
#pragma once

#define find_mistake right_find_mistake
#include "lessons/03_the_contract/solution.h"
#undef find_mistake

namespace pagelab::lesson_03 {

inline Mistake find_mistake(const CommonAttentionMetadata& metadata,
                            std::int64_t num_blocks,
                            std::int64_t block_size) {
  const Mistake mistake = right_find_mistake(metadata, num_blocks, block_size);
  const auto& slots = metadata.slot_mapping;
  const auto end = slots.begin() + std::max<std::int64_t>(metadata.num_actual_tokens(), 0);
  const bool has_no_slot = std::find(slots.begin(), end, kNoSlot) != end;
  return mistake == Mistake::kNone && has_no_slot ? Mistake::kSlotDisagrees : mistake;
}

}  // namespace pagelab::lesson_03
