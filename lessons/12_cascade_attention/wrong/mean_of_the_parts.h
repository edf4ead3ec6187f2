// Wrong in task 3: both parts count the same, however much they weigh.
// Everything else is the solution's.
#pragma once

#define merge right_merge
#include "lessons/12_cascade_attention/solution.h"
#undef merge

namespace pagelab::lesson_12 {

inline State merge(const StateBase2& prefix, const State& suffix) {
  State merged = right_merge(prefix, suffix);
  if (std::isinf(prefix.lse_base_2) || std::isinf(suffix.lse)) return merged;
  for (std::size_t d = 0; d < merged.output.size(); ++d) {
    merged.output[d] = (prefix.output[d] + suffix.output[d]) / 2;
  }
  return merged;
}

}  // namespace pagelab::lesson_12
