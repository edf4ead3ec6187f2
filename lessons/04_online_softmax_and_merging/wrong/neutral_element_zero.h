// Wrong in task 5: it begins with an LSE of 0, which is one key of score 0 and value 0.
// Everything else is the solution's.
#pragma once

#define merge_all right_merge_all
#include "lessons/04_online_softmax_and_merging/solution.h"
#undef merge_all

namespace pagelab::lesson_04 {

inline AttentionState merge_all(const std::vector<AttentionState>& parts, int head_size) {
  AttentionState merged = {Row(head_size, 0.0), 0};
  for (const AttentionState& part : parts) merged = merge_states(merged, part);
  return merged;
}

}  // namespace pagelab::lesson_04
