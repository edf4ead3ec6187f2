// Wrong in task 3: a side without tokens is multiplied by 0, and 0 times NaN is NaN.
// Everything else is the solution's.
#pragma once

#define merge right_merge
#include "lessons/12_cascade_attention/solution.h"
#undef merge

namespace pagelab::lesson_12 {

inline State merge(const StateBase2& prefix, const State& suffix) {
  const State merged = right_merge(prefix, suffix);
  const double prefix_share = std::exp(prefix.lse_base_2 * std::log(2.0) - merged.lse);
  State weighed = {suffix.output, merged.lse};
  for (std::size_t d = 0; d < weighed.output.size(); ++d) {
    weighed.output[d] = prefix_share * prefix.output[d] + (1 - prefix_share) * suffix.output[d];
  }
  return weighed;
}

}  // namespace pagelab::lesson_12
