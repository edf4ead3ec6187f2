// Lesson 04, the exercise: softmax in one pass, and parts that become a whole. Fill the gaps TODO(1) to
// TODO(5), each in place of the line that throws, and run ./pagelab check 4. The text is in README.md,
// hints are in hints.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "lessons/04_online_softmax_and_merging/states.h"
#include "lessons/checker/not_solved.h"

namespace pagelab::lesson_04 {

using lessons::NotSolved;

/// One more key: the state of all keys so far becomes the state of these and the new one.
/// \param state  before and after the key; see states.h for what its numbers mean
/// \param score  of the new key; -infinity hides it, and then nothing may change
/// \param value  [head_size] of the new key
inline void add_key(RunningState& state, double score, const Row& value) {
  throw NotSolved{"04", 1};  // TODO(1)
}

/// No more keys: the output and its log-sum-exp, the natural one.
/// \param state  of any number of keys, 0 included
/// \returns      of no keys: zeros and -infinity
inline AttentionState finish(const RunningState& state) {
  throw NotSolved{"04", 2};  // TODO(2)
}

/// Attention over the keys of both sides, from attention over each.
/// \param a  over some keys; an LSE of -infinity says none, and then its output may hold anything
/// \param b  the same over other keys, of the same head_size
/// \returns  of no keys on both sides: zeros and -infinity
inline AttentionState merge_states(const AttentionState& a, const AttentionState& b) {
  throw NotSolved{"04", 3};  // TODO(3)
}

/// The natural LSE, ln Σ exp(score), of a kernel that reports log2 Σ exp(score).
/// \param lse_base_2  -infinity for no keys
inline double natural_lse(double lse_base_2) {
  throw NotSolved{"04", 4};  // TODO(4)
}

/// Attention over the keys of all parts.
/// \param parts      any number, 0 included, each of which may be over no keys
/// \param head_size  elements of every output
/// \returns          of no keys at all: zeros and -infinity
inline AttentionState merge_all(const std::vector<AttentionState>& parts, int head_size) {
  throw NotSolved{"04", 5};  // TODO(5)
}

}  // namespace pagelab::lesson_04
