// Wrong in task 4: the head of a sequence is evicted first, and strands the rest.
// Everything else is the solution's.
#pragma once

#define release right_release
#include "lessons/11_block_manager_and_prefix_caching/solution.h"
#undef release

namespace pagelab::lesson_11 {

inline void release(Pool& pool, const std::vector<int>& table) {
  right_release(pool, {table.rbegin(), table.rend()});
}

}  // namespace pagelab::lesson_11
