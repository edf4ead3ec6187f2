// Wrong in task 3: tokens of padding are stored in slot 0.
// Everything else is the solution's.
#pragma once

#include "lessons/10_cuda_graphs/answer.h"

#define pad_step right_pad_step
#include "lessons/10_cuda_graphs/solution.h"
#undef pad_step

namespace pagelab::lesson_10 {
inline namespace PAGELAB_TARGET {

inline CommonAttentionMetadata pad_step(const CommonAttentionMetadata& step,
                                        const GraphSize& size) {
  CommonAttentionMetadata padded = right_pad_step(step, size);
  for (std::size_t token_idx = step.slot_mapping.size(); token_idx < padded.slot_mapping.size();
       ++token_idx) {
    padded.slot_mapping[token_idx] = 0;
  }
  return padded;
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_10
