// Wrong in task 1: the loop over the head stops one element early.
// Everything else is the solution's.
#pragma once

#define scores_of right_scores_of
#include "lessons/01_contiguous_attention/solution.h"
#undef scores_of

namespace pagelab::lesson_01 {

inline Row scores_of(const Row& query, const Rows& keys, double scale) {
  Row scores;
  for (const Row& key : keys) {
    double dot = 0;
    for (std::size_t d = 0; d + 1 < query.size(); ++d) dot += query[d] * key[d];
    scores.push_back(scale * dot);
  }
  return scores;
}

}  // namespace pagelab::lesson_01
