/// \file
/// How the check finds the functions of an answer: answer.cpp is compiled with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lessons/11_block_manager_and_prefix_caching/pool.h"

namespace pagelab::lesson_11 {

/// What an answer has, and where it was found.
struct Answer {
  const char* path;  ///< of the file
  /// Task 1.
  std::vector<Key> (*block_keys)(const std::vector<int>& tokens,
                                 int block_size,
                                 const std::string& salt);
  /// Task 2.
  std::vector<int> (*find_hit)(const Pool& pool,
                               const std::vector<Key>& keys,
                               int num_tokens,
                               int block_size);
  /// Task 3.
  std::optional<std::vector<int>> (*take)(Pool& pool, int num_blocks);
  /// Task 4.
  void (*release)(Pool& pool, const std::vector<int>& table);
  /// Task 5.
  std::optional<std::vector<int>> (*admit)(Pool& pool, const std::vector<int>& hit, int num_blocks);
};

/// The answer that is judged.
Answer answer();

}  // namespace pagelab::lesson_11
