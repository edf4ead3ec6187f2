// Wrong in task 5: a block that was hit may be the one that is taken next.
// Everything else is the solution's.
#pragma once

#define admit right_admit
#include "lessons/11_block_manager_and_prefix_caching/solution.h"
#undef admit

namespace pagelab::lesson_11 {

inline std::optional<std::vector<int>> admit(Pool& pool,
                                             const std::vector<int>& hit,
                                             int num_blocks) {
  const std::optional<std::vector<int>> taken =
      take(pool, num_blocks - static_cast<int>(hit.size()));
  if (!taken) return std::nullopt;
  std::vector<int> table = hit;
  for (const int block : hit) {
    if (pool.ref_cnt[block]++ == 0) std::erase(pool.free_queue, block);
  }
  table.insert(table.end(), taken->begin(), taken->end());
  return table;
}

}  // namespace pagelab::lesson_11
