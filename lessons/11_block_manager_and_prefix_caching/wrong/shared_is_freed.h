// Wrong in task 4: a block that others still use is free.
// Everything else is the solution's.
#pragma once

#define release right_release
#include "lessons/11_block_manager_and_prefix_caching/solution.h"
#undef release

namespace pagelab::lesson_11 {

inline void release(Pool& pool, const std::vector<int>& table) {
  for (const int block : table) pool.ref_cnt[block] = 1;
  right_release(pool, table);
}

}  // namespace pagelab::lesson_11
