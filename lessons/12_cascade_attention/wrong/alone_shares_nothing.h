// Wrong in task 1: a request that is alone is said to have no prefix in common with itself.
// Everything else is the solution's.
#pragma once

#define right_counts right_right_counts
#include "lessons/12_cascade_attention/solution.h"
#undef right_counts

namespace pagelab::lesson_12 {

inline std::vector<int> right_counts() { return {2, 0, 0, 3, 1, 2}; }

}  // namespace pagelab::lesson_12
