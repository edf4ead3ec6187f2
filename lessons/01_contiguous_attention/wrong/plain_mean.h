// Wrong in task 3: every value counts the same.
// Everything else is the solution's.
#pragma once

#define weighted_values right_weighted_values
#include "lessons/01_contiguous_attention/solution.h"
#undef weighted_values

namespace pagelab::lesson_01 {

inline Row weighted_values(const Row& weights, const Rows& values) {
  return right_weighted_values(Row(weights.size(), 1.0 / static_cast<double>(weights.size())),
                               values);
}

}  // namespace pagelab::lesson_01
