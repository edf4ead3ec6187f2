// Wrong in task 5: without parts there is no first one.
// Everything else is the solution's.
#pragma once

#define merge_all right_merge_all
#include "lessons/04_online_softmax_and_merging/solution.h"
#undef merge_all

namespace pagelab::lesson_04 {

inline AttentionState merge_all(const std::vector<AttentionState>& parts, int head_size) {
  AttentionState merged = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) merged = merge_states(merged, parts[i]);
  return merged.lse == kMinusInfinity ? right_merge_all(parts, head_size) : merged;
}

}  // namespace pagelab::lesson_04
