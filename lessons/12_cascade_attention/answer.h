/// \file
/// How the check finds the functions of an answer: answer.cpp is compiled with it.
#pragma once

#include <optional>
#include <vector>

#include "lessons/12_cascade_attention/decodes.h"

namespace pagelab::lesson_12 {

/// What an answer has, and where it was found.
struct Answer {
  const char* path;  ///< of the file
  /// Task 1.
  std::vector<int> (*right_counts)();
  /// Task 2.
  int (*cascade_prefix_len)(const std::vector<std::vector<int>>& tables,
                            const std::vector<int>& num_computed_tokens,
                            int block_size);
  /// Task 3.
  State (*merge)(const StateBase2& prefix, const State& suffix);
  /// Task 4.
  std::vector<Row> (*cascade_attention)(const std::vector<Decode>& batch,
                                        const PagedCache& cache,
                                        int prefix_len);
  /// Task 5.
  std::optional<int> (*least_requests)(const Layer& layer,
                                       const Gpu& gpu,
                                       int prefix_len,
                                       int own_len);
};

/// The answer that is judged.
Answer answer();

}  // namespace pagelab::lesson_12
