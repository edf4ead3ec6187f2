// Wrong in task 5: a slot counts as right if it is a slot of the pool at all.
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
  return mistake == Mistake::kSlotDisagrees ? Mistake::kNone : mistake;
}

}  // namespace pagelab::lesson_03
