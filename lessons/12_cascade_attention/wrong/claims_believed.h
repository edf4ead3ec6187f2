// Wrong in task 1: references were counted, and nobody looked at the tables.
// Everything else is the solution's.
#pragma once

#define right_counts right_right_counts
#include "lessons/12_cascade_attention/solution.h"
#undef right_counts

namespace pagelab::lesson_12 {

inline std::vector<int> right_counts() {
  std::vector<int> counts;
  for (const Claim& claim : six_claims()) counts.push_back(claim.claimed);
  return counts;
}

}  // namespace pagelab::lesson_12
