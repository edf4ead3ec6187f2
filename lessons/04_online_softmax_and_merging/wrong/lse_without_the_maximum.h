// Wrong in task 2: the logarithm of l lacks the m that was taken out of it.
// Everything else is the solution's.
#pragma once

#define finish right_finish
#include "lessons/04_online_softmax_and_merging/solution.h"
#undef finish

namespace pagelab::lesson_04 {

inline AttentionState finish(const RunningState& state) {
  AttentionState result = right_finish(state);
  if (state.l > 0) result.lse = std::log(state.l);
  return result;
}

}  // namespace pagelab::lesson_04
