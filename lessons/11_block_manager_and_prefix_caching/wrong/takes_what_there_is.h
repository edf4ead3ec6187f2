// Wrong in task 3: if too few blocks are free, those are gone nevertheless.
// Everything else is the solution's.
#pragma once

#define take right_take
#include "lessons/11_block_manager_and_prefix_caching/solution.h"
#undef take

namespace pagelab::lesson_11 {

inline std::optional<std::vector<int>> take(Pool& pool, int num_blocks) {
  const std::optional<std::vector<int>> taken = right_take(pool, num_blocks);
  if (!taken) right_take(pool, static_cast<int>(pool.free_queue.size()));
  return taken;
}

}  // namespace pagelab::lesson_11
