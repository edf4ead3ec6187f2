// Wrong in task 1: the host looks at the scores, which a GPU would not let it read, and launches nothing.
// Everything else is the solution's.
#pragma once

#include "lessons/05_a_first_cuda_kernel/answer.h"

#define launch_largest_score launch_right_largest_score
#include "lessons/05_a_first_cuda_kernel/solution.h"
#undef launch_largest_score

namespace pagelab::lesson_05 {
inline namespace PAGELAB_TARGET {

inline void launch_largest_score(const LargestScoreParams& params) {
  float m = params.scores[0];
  for (int key_idx = 1; key_idx < params.num_keys; ++key_idx) {
    if (params.scores[key_idx] > m) m = params.scores[key_idx];
  }
  params.largest[0] = m;
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_05
