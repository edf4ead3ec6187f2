// Wrong in task 5: it begins with the first part and merges that one again.
// Everything else is the solution's.
#pragma once

#define merge_all right_merge_all
#include "lessons/04_online_softmax_and_merging/solution.h"
#undef merge_all

namespace pagelab::lesson_04 {

inline AttentionState merge_all(const std::vector<AttentionState>& parts, int head_size) {
  if (parts.empty()) return right_merge_all(parts, head_size);
  AttentionState merged = parts[0];
  for (const AttentionState& part : parts) merged = merge_states(merged, part);
  return merged.lse == kMinusInfinity ? right_merge_all(parts, head_size) : merged;
}

}  // namespace pagelab::lesson_04
