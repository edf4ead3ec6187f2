// Wrong in task 3: the block that was freed last goes first.
// Everything else is the solution's.
#pragma once

#define take right_take
#include "lessons/11_block_manager_and_prefix_caching/solution.h"
#undef take

namespace pagelab::lesson_11 {

inline std::optional<std::vector<int>> take(Pool& pool, int num_blocks) {
  if (num_blocks > static_cast<int>(pool.free_queue.size())) return std::nullopt;
  std::vector<int> taken;
  for (int i = 0; i < num_blocks; ++i) {
    std::rotate(pool.free_queue.begin(), pool.free_queue.end() - 1, pool.free_queue.end());
    taken.push_back(right_take(pool, 1)->front());
  }
  return taken;
}

}  // namespace pagelab::lesson_11
