// Lesson 01, the exercise: attention in five small functions. Fill the gaps TODO(1) to TODO(5),
// each in place of the line that throws, and run ./pagelab check 1. The text is in README.md, hints
// are in hints.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "lessons/01_contiguous_attention/answer.h"
#include "lessons/checker/not_solved.h"

namespace pagelab::lesson_01 {

using lessons::NotSolved;

/// How well each key fits the query: scale times their dot product.
/// \param query  [head_size]
/// \param keys   [num_keys][head_size]
/// \param scale  usually 1/√head_size
/// \returns      [num_keys]
inline Row scores_of(const Row& query, const Rows& keys, double scale) {
  throw NotSolved{"01", 1};  // TODO(1)
}

/// Turns scores into weights that add up to 1: exp(score) divided by the sum of all exp(score). It
/// has to work for scores of any size, 1000 and -1000 included. \param scores  [num_keys], at least
/// one \returns       [num_keys]
inline Row softmax(const Row& scores) {
  throw NotSolved{"01", 2};  // TODO(2)
}

/// The sum of all values, each times its weight.
/// \param weights  [num_keys], at least one
/// \param values   [num_keys][head_size]
/// \returns        [head_size]
inline Row weighted_values(const Row& weights, const Rows& values) {
  throw NotSolved{"01", 3};  // TODO(3)
}

/// Whether a query may look at a key, if nobody may look into the future. The keys are a sequence;
/// the queries are the last tokens of that sequence. \param query_idx    0 for the first of
/// num_queries queries \param num_queries  how many queries there are \param key_idx      0 for the
/// first of num_keys keys \param num_keys     how many keys there are; may be fewer than there are
/// queries
inline bool is_visible(int query_idx, int num_queries, int key_idx, int num_keys) {
  throw NotSolved{"01", 4};  // TODO(4)
}

/// Causal attention, from the functions above. What a query may not see takes no part in its
/// softmax; a query that sees nothing gives zeros. \param queries  [num_queries][head_size] \param
/// keys     [num_keys][head_size] \param values   [num_keys][head_size] \param scale    usually
/// 1/√head_size \returns        [num_queries][head_size]
inline Rows causal_attention(const Rows& queries,
                             const Rows& keys,
                             const Rows& values,
                             double scale) {
  throw NotSolved{"01", 5};  // TODO(5)
}

}  // namespace pagelab::lesson_01
