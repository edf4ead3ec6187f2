// Wrong in task 3: exp(lse) overflows, where only exp of a difference is needed.
// Everything else is the solution's.
#pragma once

#define merge_states right_merge_states
#include "lessons/04_online_softmax_and_merging/solution.h"
#undef merge_states

namespace pagelab::lesson_04 {

inline AttentionState merge_states(const AttentionState& a, const AttentionState& b) {
  if (a.lse == kMinusInfinity || b.lse == kMinusInfinity) return right_merge_states(a, b);
  const double sum_of_a = std::exp(a.lse);
  const double sum_of_b = std::exp(b.lse);
  AttentionState merged = a;
  for (std::size_t d = 0; d < a.output.size(); ++d) {
    const double total = sum_of_a * a.output[d] + sum_of_b * b.output[d];
    merged.output[d] = total / (sum_of_a + sum_of_b);
  }
  merged.lse = std::log(sum_of_a + sum_of_b);
  return merged;
}

}  // namespace pagelab::lesson_04
