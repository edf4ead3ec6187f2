// Wrong in task 5: block num_blocks passes, but the last one is num_blocks - 1.
// Everything else is the solution's.
#pragma once

#define find_mistake right_find_mistake
#include "lessons/03_the_contract/solution.h"
#undef find_mistake

namespace pagelab::lesson_03 {

inline Mistake find_mistake(const CommonAttentionMetadata& metadata,
                            std::int64_t num_blocks,
                            std::int64_t block_size) {
  return right_find_mistake(metadata, num_blocks + 1, block_size);
}

}  // namespace pagelab::lesson_03
