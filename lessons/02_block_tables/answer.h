/// \file
/// How the check finds the functions of an answer: answer.cpp is compiled with it.
#pragma once

#include <cstdint>
#include <vector>

#include "lessons/02_block_tables/paged_cache.h"

namespace pagelab::lesson_02 {

/// What an answer has, and where it was found.
struct Answer {
  const char* path;  ///< of the file
  /// Task 1.
  std::vector<int> (*choose_block_table)(int seq_len,
                                         int block_size,
                                         const std::vector<int>& free_blocks);
  /// Task 2.
  std::int64_t (*slot_of)(const BlockTableRow& block_table, int position, int block_size);
  /// Task 3.
  std::vector<std::int64_t> (*slot_mapping_of)(const BlockTableRow& block_table,
                                               int num_computed_tokens,
                                               int num_new_tokens,
                                               int block_size);
  /// Task 4.
  Rows (*gather)(const Rows& cache_rows,
                 const BlockTableRow& block_table,
                 int seq_len,
                 int block_size);
  /// Task 5.
  Row (*attend_in_place)(const Row& query,
                         const PagedCache& cache,
                         const BlockTableRow& block_table,
                         int seq_len);
};

/// The answer that is judged.
Answer answer();

}  // namespace pagelab::lesson_02
