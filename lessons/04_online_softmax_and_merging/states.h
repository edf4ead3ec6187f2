/// \file
/// The two forms that attention over a part of the keys has: while keys still come, and when they are done.
#pragma once

#include <limits>
#include <vector>

namespace pagelab::lesson_04 {

using Row =
    std::vector<double>;        ///< one value or output: [head_size]; or a number a key: [num_keys]
using Rows = std::vector<Row>;  ///< values: [num_keys][head_size]

/// The LSE of no keys at all: the logarithm of an empty sum.
inline constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// What online softmax remembers of the keys that it has seen.
struct RunningState {
  double m;  ///< the largest score
  double l;  ///< Σ exp(score − m)
  Row acc;   ///< [head_size] Σ exp(score − m) · value: the output before it is divided by l
};

/// Before the first key: no score is smaller than m, and both sums are empty.
inline RunningState no_keys_yet(int head_size) {
  return {.m = kMinusInfinity, .l = 0, .acc = Row(head_size, 0.0)};
}

/// Attention over a set of keys, ready to be used, or to be merged with that over another set.
struct AttentionState {
  Row output;  ///< [head_size]; without keys it may hold anything
  double lse;  ///< ln Σ exp(score); −∞ says that there were no keys
};

}  // namespace pagelab::lesson_04
