/// \file
/// Rows of numbers, and how the check finds the functions of an answer: answer.cpp is compiled with it.
#pragma once

#include <vector>

namespace pagelab::lesson_01 {

using Row =
    std::vector<double>;  ///< one query, key or value: [head_size]; or a number a key: [num_keys]
using Rows = std::vector<Row>;  ///< queries, keys or values: [how many][head_size]

/// What an answer has, and where it was found.
struct Answer {
  const char* path;  ///< of the file
  /// Task 1.
  Row (*scores_of)(const Row& query, const Rows& keys, double scale);
  /// Task 2.
  Row (*softmax)(const Row& scores);
  /// Task 3.
  Row (*weighted_values)(const Row& weights, const Rows& values);
  /// Task 4.
  bool (*is_visible)(int query_idx, int num_queries, int key_idx, int num_keys);
  /// Task 5.
  Rows (*causal_attention)(const Rows& queries, const Rows& keys, const Rows& values, double scale);
};

/// The answer that is judged.
Answer answer();

}  // namespace pagelab::lesson_01
