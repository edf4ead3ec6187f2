/// \file
/// How the check finds the functions of an answer: answer.cpp is compiled with it.
#pragma once

#include <vector>

#include "lessons/04_online_softmax_and_merging/states.h"

namespace pagelab::lesson_04 {

/// What an answer has, and where it was found.
struct Answer {
  const char* path;  ///< of the file
  /// Task 1.
  void (*add_key)(RunningState& state, double score, const Row& value);
  /// Task 2.
  AttentionState (*finish)(const RunningState& state);
  /// Task 3.
  AttentionState (*merge_states)(const AttentionState& a, const AttentionState& b);
  /// Task 4.
  double (*natural_lse)(double lse_base_2);
  /// Task 5.
  AttentionState (*merge_all)(const std::vector<AttentionState>& parts, int head_size);
};

/// The answer that is judged.
Answer answer();

}  // namespace pagelab::lesson_04
