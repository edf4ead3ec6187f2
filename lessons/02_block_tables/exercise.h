// Lesson 02, the exercise: block tables by hand. Fill the gaps TODO(1) to TODO(5), each in place of
// the line that throws, and run ./pagelab check 2. The text is in README.md, hints are in hints.md.
#pragma once

#include <cstdint>
#include <vector>

#include "lessons/02_block_tables/attend.h"
#include "lessons/02_block_tables/paged_cache.h"
#include "lessons/checker/not_solved.h"

namespace pagelab::lesson_02 {

using lessons::NotSolved;

/// Chooses blocks for a sequence: any free ones, in any order.
/// \param seq_len      tokens of the sequence
/// \param block_size   tokens a block
/// \param free_blocks  the blocks that no other request holds; enough of them
/// \returns            the sequence's row of the block table, as long as it must be and no longer
inline std::vector<int> choose_block_table(int seq_len,
                                           int block_size,
                                           const std::vector<int>& free_blocks) {
  throw NotSolved{"02", 1};  // TODO(1)
}

/// Where a position of the sequence lies in the cache.
/// \param block_table  the sequence's physical blocks
/// \param position     0 for the first token
/// \param block_size   tokens a block
inline std::int64_t slot_of(const BlockTableRow& block_table, int position, int block_size) {
  throw NotSolved{"02", 2};  // TODO(2)
}

/// Where the new tokens of a step are to be written.
/// \param block_table          the sequence's physical blocks
/// \param num_computed_tokens  tokens that are in the cache already
/// \param num_new_tokens       tokens that follow them in this step
/// \param block_size           tokens a block
/// \returns                    [num_new_tokens] slots
inline std::vector<std::int64_t> slot_mapping_of(const BlockTableRow& block_table,
                                                 int num_computed_tokens,
                                                 int num_new_tokens,
                                                 int block_size) {
  throw NotSolved{"02", 3};  // TODO(3)
}

/// Copies a sequence out of the cache: the first of the two forms of paged attention needs it.
/// \param cache_rows   [num_blocks * block_size][head_size], keys or values
/// \param block_table  the sequence's physical blocks
/// \param seq_len      tokens of the sequence
/// \param block_size   tokens a block
/// \returns            [seq_len][head_size], in the order of the sequence
inline Rows gather(const Rows& cache_rows,
                   const BlockTableRow& block_table,
                   int seq_len,
                   int block_size) {
  throw NotSolved{"02", 4};  // TODO(4)
}

/// The second form: attention that reads each block where it lies. The same operations in the same
/// order as attend() in attend.h, so the same bits.
/// \param query        [head_size]
/// \param cache        keys and values of all sequences; unused slots hold NaN
/// \param block_table  the sequence's physical blocks; a lookup a block (and pass) is enough
/// \param seq_len      tokens of the sequence, at least 1
/// \returns            [head_size]
inline Row attend_in_place(const Row& query,
                           const PagedCache& cache,
                           const BlockTableRow& block_table,
                           int seq_len) {
  throw NotSolved{"02", 5};  // TODO(5)
}

}  // namespace pagelab::lesson_02
