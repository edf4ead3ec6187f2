// Wrong in task 2: a block is computed again even where a later token is computed anyway.
// Everything else is the solution's.
#pragma once

#define find_hit right_find_hit
#include "lessons/11_block_manager_and_prefix_caching/solution.h"
#undef find_hit

namespace pagelab::lesson_11 {

inline std::vector<int> find_hit(const Pool& pool,
                                 const std::vector<Key>& keys,
                                 int num_tokens,
                                 int block_size) {
  std::vector<int> hit = right_find_hit(pool, keys, num_tokens + 1, block_size);
  if (hit.size() == keys.size() && !hit.empty()) hit.pop_back();
  return hit;
}

}  // namespace pagelab::lesson_11
