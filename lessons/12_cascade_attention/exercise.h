// Lesson 12, the exercise: find a common prefix, attend over it once, merge, and say when it pays. Fill the gaps
// TODO(1) to TODO(5), each in place of the line that throws, and run ./pagelab check 12. The text is in
// README.md, hints are in hints.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "lessons/12_cascade_attention/decodes.h"
#include "lessons/checker/not_solved.h"

namespace pagelab::lesson_12 {

using lessons::NotSolved;

/// How many leading blocks the batches of six_claims() in decodes.h really share, from first to last.
/// \returns  [6]
inline std::vector<int> right_counts() {
  throw NotSolved{"12", 1};  // TODO(1)
}

/// How much of its beginning a batch may attend over together: whole blocks that are the same in all tables and lie
/// before the first query of every request.
/// \param tables               [num_reqs] blocks of each request; at least one request
/// \param num_computed_tokens  [num_reqs] tokens before its first query
/// \param block_size           tokens a block
/// \returns                    tokens
inline int cascade_prefix_len(const std::vector<std::vector<int>>& tables,
                              const std::vector<int>& num_computed_tokens,
                              int block_size) {
  throw NotSolved{"12", 2};  // TODO(2)
}

/// Attention over both sets of tokens.
/// \param prefix  over some tokens; its kernel reports base 2
/// \param suffix  over others, of the same head_size
/// \returns       over all of them, with a natural LSE; of no tokens: zeros and −∞
inline State merge(const StateBase2& prefix, const State& suffix) {
  throw NotSolved{"12", 3};  // TODO(3)
}

/// Attention of a batch in two parts. Each token of the prefix is read once, for all queries.
/// \param batch       decodes, at least one
/// \param cache       counts what is read
/// \param prefix_len  tokens that all requests share: cascade_prefix_len, whole blocks, maybe 0
/// \returns           [num_reqs] outputs
inline std::vector<Row> cascade_attention(const std::vector<Decode>& batch,
                                          const PagedCache& cache,
                                          int prefix_len) {
  throw NotSolved{"12", 4};  // TODO(4)
}

/// The smallest batch of decodes for which a cascade takes less time than plain attention, by the README's model.
/// \param layer       its heads
/// \param gpu         memory and launches
/// \param prefix_len  tokens that all requests share
/// \param own_len     tokens that each request has besides
/// \returns           requests; none if no batch is large enough
inline std::optional<int> least_requests(const Layer& layer,
                                         const Gpu& gpu,
                                         int prefix_len,
                                         int own_len) {
  throw NotSolved{"12", 5};  // TODO(5)
}

}  // namespace pagelab::lesson_12
