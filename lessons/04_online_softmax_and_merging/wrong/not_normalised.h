// Wrong in task 2: acc is not divided by l.
// Everything else is the solution's.
#pragma once

#define finish right_finish
#include "lessons/04_online_softmax_and_merging/solution.h"
#undef finish

namespace pagelab::lesson_04 {

inline AttentionState finish(const RunningState& state) {
  if (state.l == 0) return {state.acc, kMinusInfinity};
  return {state.acc, state.m + std::log(state.l)};
}

}  // namespace pagelab::lesson_04
