// Wrong in task 3: the prefix's LSE is taken for a natural one.
// Everything else is the solution's.
#pragma once

#define merge right_merge
#include "lessons/12_cascade_attention/solution.h"
#undef merge

namespace pagelab::lesson_12 {

inline State merge(const StateBase2& prefix, const State& suffix) {
  return right_merge({prefix.output, prefix.lse_base_2 / std::log(2.0)}, suffix);
}

}  // namespace pagelab::lesson_12
