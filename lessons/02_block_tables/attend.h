/// \file
/// The ordinary attention of lesson 01, for one query: nothing here knows about blocks. Its order
/// of operations is the lesson's own (all in double, divide before the last multiply), so that
/// whoever keeps that order gets the same bits.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

namespace pagelab::lesson_02 {

using Row = std::vector<double>;  ///< one query, key or value: [head_size]
using Rows = std::vector<Row>;    ///< a key or value each: [tokens] or [slots]

/// Attention of one query over the keys and values of its sequence, in order.
/// \param query   [head_size]
/// \param keys    [seq_len][head_size]
/// \param values  [seq_len][head_size]
/// \returns       [head_size]
inline Row attend(const Row& query, const Rows& keys, const Rows& values) {
  const std::size_t head_size = query.size();
  const std::size_t seq_len = keys.size();

  // Scores, and their maximum.
  Row scores(seq_len);
  double max_score = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < seq_len; ++i) {
    double dot = 0;
    for (std::size_t d = 0; d < head_size; ++d) dot += query[d] * keys[i][d];
    scores[i] = dot / std::sqrt(static_cast<double>(head_size));
    if (scores[i] > max_score) max_score = scores[i];
  }

  // Exponentials, in place of the scores, and their sum.
  double sum = 0;
  for (std::size_t i = 0; i < seq_len; ++i) {
    scores[i] = std::exp(scores[i] - max_score);
    sum += scores[i];
  }

  // Values, each weighted with its share of the sum.
  Row output(head_size, 0.0);
  for (std::size_t i = 0; i < seq_len; ++i) {
    const double weight = scores[i] / sum;
    for (std::size_t d = 0; d < head_size; ++d) output[d] += weight * values[i][d];
  }
  return output;
}

}  // namespace pagelab::lesson_02
