// Wrong in task 3: the map forgets the block, but the block keeps the key of what it held.
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
    const int block = pool.free_queue.front();
    pool.free_queue.pop_front();
    pool.cache_map.erase(pool.keys[block]);
    pool.ref_cnt[block] = 1;
    taken.push_back(block);
  }
  return taken;
}

}  // namespace pagelab::lesson_11
