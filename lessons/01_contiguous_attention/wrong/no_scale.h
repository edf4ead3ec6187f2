// Wrong in task 1: the scale is forgotten.
// Everything else is the solution's.
#pragma once

#define scores_of right_scores_of
#include "lessons/01_contiguous_attention/solution.h"
#undef scores_of

namespace pagelab::lesson_01 {

inline Row scores_of(const Row& query, const Rows& keys, double) {
  return right_scores_of(query, keys, 1.0);
}

}  // namespace pagelab::lesson_01
