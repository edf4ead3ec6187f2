// Wrong in task 4: the triangle stands in the top left corner; right only for as many queries as
// keys. Everything else is the solution's.
#pragma once

#define is_visible right_is_visible
#include "lessons/01_contiguous_attention/solution.h"
#undef is_visible

namespace pagelab::lesson_01 {

inline bool is_visible(int query_idx, int, int key_idx, int) { return key_idx <= query_idx; }

}  // namespace pagelab::lesson_01
