// Wrong in task 5: hidden keys get the score -10000, and legal scores can lie below that.
// Everything else is the solution's.
#pragma once

#define causal_attention right_causal_attention
#include "lessons/01_contiguous_attention/solution.h"
#undef causal_attention

namespace pagelab::lesson_01 {

inline Rows causal_attention(const Rows& queries,
                             const Rows& keys,
                             const Rows& values,
                             double scale) {
  const int num_queries = static_cast<int>(queries.size());
  const int num_keys = static_cast<int>(keys.size());
  Rows outputs;
  for (int i = 0; i < num_queries; ++i) {
    Row scores = scores_of(queries[i], keys, scale);
    for (int j = 0; j < num_keys; ++j) {
      if (!is_visible(i, num_queries, j, num_keys)) scores[j] = -10000;
    }
    const Row weights = softmax(scores);
    outputs.push_back(weighted_values(weights, values));
  }
  return outputs;
}

}  // namespace pagelab::lesson_01
