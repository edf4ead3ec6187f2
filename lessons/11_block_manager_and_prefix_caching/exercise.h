// Lesson 11, the exercise: a block manager in five functions. Fill the gaps TODO(1) to TODO(5), each in place
// of the line that throws, and run ./pagelab check 11. The text is in README.md, hints are in hints.md.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "lessons/11_block_manager_and_prefix_caching/pool.h"
#include "lessons/checker/not_solved.h"

namespace pagelab::lesson_11 {

using lessons::NotSolved;

/// The keys of a request's full blocks. Two blocks have the same key only if they hold the same keys and values.
/// \param tokens      of the request
/// \param block_size  tokens a block
/// \param salt        requests of different salts share nothing; empty: none. It goes into block 0
/// \returns           [full blocks]
inline std::vector<Key> block_keys(const std::vector<int>& tokens,
                                   int block_size,
                                   const std::string& salt) {
  throw NotSolved{"11", 1};  // TODO(1)
}

/// The longest prefix of a request that is in the cache, at most all tokens but the last.
/// \param pool        has the cache map; nothing changes
/// \param keys        [full blocks of the request]
/// \param num_tokens  of the request, at least 1
/// \param block_size  tokens a block
/// \returns           the blocks that hold it, in the order of the sequence
inline std::vector<int> find_hit(const Pool& pool,
                                 const std::vector<Key>& keys,
                                 int num_tokens,
                                 int block_size) {
  throw NotSolved{"11", 2};  // TODO(2)
}

/// Takes blocks from the front of the queue, for one user each. What they held is forgotten.
/// \param pool        changes only if there are enough free blocks
/// \param num_blocks  0 or more
/// \returns           the blocks, in the order in which they were taken; none if too few are free
inline std::optional<std::vector<int>> take(Pool& pool, int num_blocks) {
  throw NotSolved{"11", 3};  // TODO(3)
}

/// Gives back the blocks of a request that has finished, the tail first. A block that nobody uses any more is free:
/// without a key it goes to the front of the queue, with one to the back.
/// \param pool   gets them
/// \param table  the request's blocks, in the order of the sequence
inline void release(Pool& pool, const std::vector<int>& table) {
  throw NotSolved{"11", 4};  // TODO(4)
}

/// Lets a request in: what was hit has one user more, and the rest is taken.
/// \param pool        changes only if there are enough free blocks
/// \param hit         as find_hit has just found it
/// \param num_blocks  that the request needs in all, at least as many as were hit
/// \returns           its block table; none if too few blocks are free
inline std::optional<std::vector<int>> admit(Pool& pool,
                                             const std::vector<int>& hit,
                                             int num_blocks) {
  throw NotSolved{"11", 5};  // TODO(5)
}

}  // namespace pagelab::lesson_11
