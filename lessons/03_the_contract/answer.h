/// \file
/// How the check finds the functions of an answer: answer.cpp is compiled with it.
#pragma once

#include <cstdint>
#include <vector>

#include "lessons/03_the_contract/batch.h"

namespace pagelab::lesson_03 {

/// What an answer has, and where it was found.
struct Answer {
  const char* path;  ///< of the file
  /// Task 1.
  std::vector<std::int32_t> (*query_start_loc_of)(const std::vector<ScheduledRequest>& requests);
  /// Task 2.
  std::vector<std::int32_t> (*seq_lens_of)(const std::vector<ScheduledRequest>& requests);
  /// Task 3.
  std::vector<std::int64_t> (*slot_mapping_of)(const std::vector<ScheduledRequest>& requests,
                                               std::int64_t block_size,
                                               std::int64_t num_tokens);
  /// Task 4.
  CommonAttentionMetadata (*build_metadata)(const std::vector<ScheduledRequest>& requests,
                                            std::int64_t block_size,
                                            std::int64_t num_tokens);
  /// Task 5.
  Mistake (*find_mistake)(const CommonAttentionMetadata& metadata,
                          std::int64_t num_blocks,
                          std::int64_t block_size);
};

/// The answer that is judged.
Answer answer();

}  // namespace pagelab::lesson_03
