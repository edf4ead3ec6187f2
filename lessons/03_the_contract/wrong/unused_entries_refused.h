// Wrong in task 5: the whole row is looked at, its unused entries too.
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
  const auto is_outside = [&](std::int32_t block) { return block < 0 || block >= num_blocks; };
  const bool has_outside = std::ranges::any_of(metadata.block_table.entries, is_outside);
  return mistake == Mistake::kNone && has_outside ? Mistake::kBlockOutsidePool : mistake;
}

}  // namespace pagelab::lesson_03
