// Wrong in task 5: hits that nobody used are counted as if they were in use.
// Everything else is the solution's.
#pragma once

#define admit right_admit
#include "lessons/11_block_manager_and_prefix_caching/solution.h"
#undef admit

namespace pagelab::lesson_11 {

inline std::optional<std::vector<int>> admit(Pool& pool,
                                             const std::vector<int>& hit,
                                             int num_blocks) {
  const int num_new = num_blocks - static_cast<int>(hit.size());
  if (num_new > static_cast<int>(pool.free_queue.size())) return std::nullopt;
  for (const int block : hit) {
    if (pool.ref_cnt[block]++ == 0) std::erase(pool.free_queue, block);
  }
  std::vector<int> table = hit;
  const std::optional<std::vector<int>> taken = take(pool, num_new);
  if (!taken) return std::nullopt;
  table.insert(table.end(), taken->begin(), taken->end());
  return table;
}

}  // namespace pagelab::lesson_11
