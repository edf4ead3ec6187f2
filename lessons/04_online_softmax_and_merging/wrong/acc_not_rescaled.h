// Wrong in task 1: only l is rescaled; acc keeps what it got under smaller maxima.
// Everything else is the solution's.
#pragma once

#define add_key right_add_key
#include "lessons/04_online_softmax_and_merging/solution.h"
#undef add_key

namespace pagelab::lesson_04 {

inline void add_key(RunningState& state, double score, const Row& value) {
  if (score == kMinusInfinity) return;
  const double new_m = std::max(state.m, score);
  const double p = std::exp(score - new_m);
  state.l = std::exp(state.m - new_m) * state.l + p;
  for (std::size_t d = 0; d < value.size(); ++d) state.acc[d] += p * value[d];
  state.m = new_m;
}

}  // namespace pagelab::lesson_04
