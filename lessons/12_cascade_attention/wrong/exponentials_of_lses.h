// Wrong in task 3: exp of an LSE is infinite, or 0, long before the LSE is.
// Everything else is the solution's.
#pragma once

#define merge right_merge
#include "lessons/12_cascade_attention/solution.h"
#undef merge

namespace pagelab::lesson_12 {

inline State merge(const StateBase2& prefix, const State& suffix) {
  if (std::isinf(prefix.lse_base_2) || std::isinf(suffix.lse)) return right_merge(prefix, suffix);
  const double prefix_sum = std::exp2(prefix.lse_base_2);
  const double suffix_sum = std::exp(suffix.lse);
  State merged = {suffix.output, std::log(prefix_sum + suffix_sum)};
  for (std::size_t d = 0; d < merged.output.size(); ++d) {
    merged.output[d] =
        (prefix_sum * prefix.output[d] + suffix_sum * suffix.output[d]) / (prefix_sum + suffix_sum);
  }
  return merged;
}

}  // namespace pagelab::lesson_12
