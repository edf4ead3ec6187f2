// Lesson 03, the exercise: build the arrays of the contract, then find what is wrong with others. Fill the
// gaps TODO(1) to TODO(5), each in place of the line that throws, and run ./pagelab check 3. The text is in
// README.md, hints are in hints.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "lessons/03_the_contract/batch.h"
#include "lessons/checker/not_solved.h"

namespace pagelab::lesson_03 {

using lessons::NotSolved;

/// First token of each request in the flat batch, and one past the last token.
/// \param requests  N requests
/// \returns         [N + 1]
inline std::vector<std::int32_t> query_start_loc_of(const std::vector<ScheduledRequest>& requests) {
  throw NotSolved{"03", 1};  // TODO(1)
}

/// Tokens of each request that are in the cache once this step's are written.
/// \param requests  N requests
/// \returns         [N]
inline std::vector<std::int32_t> seq_lens_of(const std::vector<ScheduledRequest>& requests) {
  throw NotSolved{"03", 2};  // TODO(2)
}

/// Where the key and value of each token go. Tokens past those of the requests are padding: kNoSlot.
/// \param requests    N requests
/// \param block_size  tokens a block
/// \param num_tokens  T, padding included
/// \returns           [T]
inline std::vector<std::int64_t> slot_mapping_of(const std::vector<ScheduledRequest>& requests,
                                                 std::int64_t block_size,
                                                 std::int64_t num_tokens) {
  throw NotSolved{"03", 3};  // TODO(3)
}

/// The whole batch. Rows of the block table have one width; entries that no token needs may be anything,
/// kNoBlock by custom.
/// \param requests    N requests
/// \param block_size  tokens a block
/// \param num_tokens  T, padding included
inline CommonAttentionMetadata build_metadata(const std::vector<ScheduledRequest>& requests,
                                              std::int64_t block_size,
                                              std::int64_t num_tokens) {
  throw NotSolved{"03", 4};  // TODO(4)
}

/// What is wrong with a batch whose tokens are to be stored: the first mistake in the order of Mistake, or
/// kNone. Arrays have the right lengths, and query_start_loc[0] is 0.
/// \param metadata    the batch
/// \param num_blocks  blocks of the pool: 0 to num_blocks - 1
/// \param block_size  tokens a block
inline Mistake find_mistake(const CommonAttentionMetadata& metadata,
                            std::int64_t num_blocks,
                            std::int64_t block_size) {
  throw NotSolved{"03", 5};  // TODO(5)
}

}  // namespace pagelab::lesson_03
