// Wrong in task 3: the last request gets all tokens of padding as queries.
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
  for (std::size_t i = step.seq_lens.size(); i < padded.query_start_loc.size(); ++i) {
    padded.query_start_loc[i] = static_cast<std::int32_t>(size.num_tokens);
  }
  return padded;
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_10
