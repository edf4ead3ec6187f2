// Wrong in task 5: a hit that is in use costs a free block.
// Everything else is the solution's.
#pragma once

#define admit right_admit
#include "lessons/11_block_manager_and_prefix_caching/solution.h"
#undef admit

namespace pagelab::lesson_11 {

inline std::optional<std::vector<int>> admit(Pool& pool,
                                             const std::vector<int>& hit,
                                             int num_blocks) {
  if (num_blocks > static_cast<int>(pool.free_queue.size())) return std::nullopt;
  return right_admit(pool, hit, num_blocks);
}

}  // namespace pagelab::lesson_11
