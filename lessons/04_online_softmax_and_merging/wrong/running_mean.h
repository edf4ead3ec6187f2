// Wrong in task 5: the average of the average so far and the next part.
// Everything else is the solution's.
#pragma once

#define merge_all right_merge_all
#include "lessons/04_online_softmax_and_merging/solution.h"
#undef merge_all

namespace pagelab::lesson_04 {

inline AttentionState merge_all(const std::vector<AttentionState>& parts, int head_size) {
  AttentionState merged = right_merge_all(parts, head_size);
  if (parts.size() < 2) return merged;
  Row mean = parts[0].output;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    for (std::size_t d = 0; d < mean.size(); ++d) mean[d] = (mean[d] + parts[i].output[d]) / 2;
  }
  merged.output = mean;
  return merged;
}

}  // namespace pagelab::lesson_04
