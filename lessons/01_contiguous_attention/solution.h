// Lesson 01, a solution. There are others: the check judges what the functions return.
// No #pragma once: the tests include it once for each wrong answer, which differs from it in one function.

#include <algorithm>
#include <cmath>
#include <vector>

#include "lessons/01_contiguous_attention/answer.h"
#include "lessons/checker/not_solved.h"

namespace pagelab::lesson_01 {

using lessons::NotSolved;

inline Row scores_of(const Row& query, const Rows& keys, double scale) {
  Row scores;
  for (const Row& key : keys) {
    double dot = 0;
    for (std::size_t d = 0; d < query.size(); ++d) dot += query[d] * key[d];
    // Without the scale, scores grow with √head_size, and the softmax would pick one key alone.
    scores.push_back(scale * dot);
  }
  return scores;
}

inline Row softmax(const Row& scores) {
  // exp() overflows from 710 on. Subtracting the maximum changes no weight, since exp(-max) divides
  // out, and leaves exponents of 0 and less. The maximum has to come from the scores themselves:
  // one that starts at 0 would leave scores of -1000 where they are, and all exponentials would be
  // 0.
  const double max_score = *std::max_element(scores.begin(), scores.end());
  Row weights;
  double sum = 0;
  for (double score : scores) {
    weights.push_back(std::exp(score - max_score));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

inline Row weighted_values(const Row& weights, const Rows& values) {
  Row output(values[0].size(), 0.0);
  for (std::size_t j = 0; j < values.size(); ++j) {
    for (std::size_t d = 0; d < output.size(); ++d) output[d] += weights[j] * values[j][d];
  }
  return output;
}

inline bool is_visible(int query_idx, int num_queries, int key_idx, int num_keys) {
  // The last query is the last token: the triangle stands in the bottom right corner. The position
  // is negative for queries that have no key at all before them.
  const int query_position = num_keys - num_queries + query_idx;
  return key_idx <= query_position;
}

inline Rows causal_attention(const Rows& queries,
                             const Rows& keys,
                             const Rows& values,
                             double scale) {
  const int num_queries = static_cast<int>(queries.size());
  const int num_keys = static_cast<int>(keys.size());
  Rows outputs;
  for (int query_idx = 0; query_idx < num_queries; ++query_idx) {
    // Hidden keys are left out before the softmax, so that they are in neither maximum nor sum.
    Rows visible_keys;
    Rows visible_values;
    for (int key_idx = 0; key_idx < num_keys; ++key_idx) {
      if (!is_visible(query_idx, num_queries, key_idx, num_keys)) continue;
      visible_keys.push_back(keys[key_idx]);
      visible_values.push_back(values[key_idx]);
    }
    if (visible_keys.empty()) {
      // Not 0/0: an empty sum of values is 0.
      outputs.push_back(Row(queries[query_idx].size(), 0.0));
      continue;
    }
    const Row scores = scores_of(queries[query_idx], visible_keys, scale);
    const Row weights = softmax(scores);
    outputs.push_back(weighted_values(weights, visible_values));
  }
  return outputs;
}

}  // namespace pagelab::lesson_01
