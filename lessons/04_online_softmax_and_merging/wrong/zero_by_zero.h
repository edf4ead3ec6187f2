// Wrong in task 2: without a key, 0 is divided by 0.
// Everything else is the solution's.
#pragma once

#define finish right_finish
#include "lessons/04_online_softmax_and_merging/solution.h"
#undef finish

namespace pagelab::lesson_04 {

inline AttentionState finish(const RunningState& state) {
  AttentionState result = {state.acc, state.m + std::log(state.l)};
  for (double& element : result.output) element /= state.l;
  return result;
}

}  // namespace pagelab::lesson_04
