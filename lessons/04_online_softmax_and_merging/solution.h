// Lesson 04, a solution. There are others: the check judges what the functions return.
// No #pragma once: the tests include it once for each wrong answer, which differs from it in one function.

#include <algorithm>
#include <cmath>
#include <vector>

#include "lessons/04_online_softmax_and_merging/states.h"
#include "lessons/checker/not_solved.h"

namespace pagelab::lesson_04 {

using lessons::NotSolved;

inline void add_key(RunningState& state, double score, const Row& value) {
  // A hidden key adds exp(−∞) = 0 to both sums. It is left out here, because with no key before it
  // both it and m are −∞, and −∞ − (−∞) is NaN.
  if (score == kMinusInfinity) return;

  // The old sums are in units of exp(old m), the new ones in units of exp(new m). The first key has
  // m = −∞ before it: exp(−∞) = 0 times sums that are 0.
  const double new_m = std::max(state.m, score);
  const double rescaling = std::exp(state.m - new_m);
  const double p = std::exp(score - new_m);
  state.l = rescaling * state.l + p;
  for (std::size_t d = 0; d < value.size(); ++d) {
    state.acc[d] = rescaling * state.acc[d] + p * value[d];
  }
  state.m = new_m;
}

inline AttentionState finish(const RunningState& state) {
  AttentionState result = {Row(state.acc.size(), 0.0), kMinusInfinity};
  // Not 0/0: an empty sum is 0.
  if (state.l == 0) return result;
  for (std::size_t d = 0; d < state.acc.size(); ++d) result.output[d] = state.acc[d] / state.l;
  // exp(m) was taken out of the sum: as a logarithm, that is + m.
  result.lse = state.m + std::log(state.l);
  return result;
}

inline AttentionState merge_states(const AttentionState& a, const AttentionState& b) {
  // A side without keys is left out, not weighed with 0: its output may be NaN, and so is 0 · NaN.
  if (a.lse == kMinusInfinity && b.lse == kMinusInfinity) {
    return {Row(a.output.size(), 0.0), kMinusInfinity};
  }
  if (a.lse == kMinusInfinity) return b;
  if (b.lse == kMinusInfinity) return a;

  // Only differences of LSEs are exponentiated. exp(lse) itself, a sum of exponentials of scores, may
  // be larger than any double.
  const double m = std::max(a.lse, b.lse);
  const double weight_of_a = std::exp(a.lse - m);
  const double weight_of_b = std::exp(b.lse - m);
  const double sum = weight_of_a + weight_of_b;
  AttentionState merged = a;
  for (std::size_t d = 0; d < a.output.size(); ++d) {
    merged.output[d] = weight_of_a / sum * a.output[d] + weight_of_b / sum * b.output[d];
  }
  merged.lse = m + std::log(sum);
  return merged;
}

inline double natural_lse(double lse_base_2) {
  // log2(x) = ln(x) / ln(2).
  return lse_base_2 * std::log(2.0);
}

inline AttentionState merge_all(const std::vector<AttentionState>& parts, int head_size) {
  // The state of no keys changes nothing that it is merged with: the 0 of this addition.
  AttentionState merged = {Row(head_size, 0.0), kMinusInfinity};
  for (const AttentionState& part : parts) merged = merge_states(merged, part);
  return merged;
}

}  // namespace pagelab::lesson_04
