// Wrong in task 4: a query does not see its own token.
// Everything else is the solution's.
#pragma once

#define is_visible right_is_visible
#include "lessons/01_contiguous_attention/solution.h"
#undef is_visible

namespace pagelab::lesson_01 {

inline bool is_visible(int query_idx, int num_queries, int key_idx, int num_keys) {
  return key_idx < num_keys - num_queries + query_idx;
}

}  // namespace pagelab::lesson_01
