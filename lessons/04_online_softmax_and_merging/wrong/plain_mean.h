// Wrong in task 3: both sides count the same, however many keys they have and however well these fit.
// Everything else is the solution's.
#pragma once

#define merge_states right_merge_states
#include "lessons/04_online_softmax_and_merging/solution.h"
#undef merge_states

namespace pagelab::lesson_04 {

inline AttentionState merge_states(const AttentionState& a, const AttentionState& b) {
  AttentionState merged = right_merge_states(a, b);
  if (a.lse == kMinusInfinity || b.lse == kMinusInfinity) return merged;
  for (std::size_t d = 0; d < a.output.size(); ++d) {
    merged.output[d] = (a.output[d] + b.output[d]) / 2;
  }
  return merged;
}

}  // namespace pagelab::lesson_04
