// Wrong in task 5: unused slots get the weight 0, but 0 times NaN is NaN.
// Everything else is the solution's.
#pragma once

#define attend_in_place right_attend_in_place
#include "lessons/02_block_tables/solution.h"
#undef attend_in_place

namespace pagelab::lesson_02 {

inline Row attend_in_place(const Row& query,
                           const PagedCache& cache,
                           const BlockTableRow& block_table,
                           int seq_len) {
  Row scores;
  double max_score = -std::numeric_limits<double>::infinity();
  for (int i = 0; i < block_table.size() * cache.block_size; ++i) {
    const Row& key = cache.keys[slot_of(block_table, i, cache.block_size)];
    double dot = 0;
    for (std::size_t d = 0; d < query.size(); ++d) dot += query[d] * key[d];
    const double score = dot / std::sqrt(static_cast<double>(query.size()));
    scores.push_back(i < seq_len ? score : -std::numeric_limits<double>::infinity());
    if (scores[i] > max_score) max_score = scores[i];
  }
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - max_score);
  Row output(query.size(), 0.0);
  for (int i = 0; i < block_table.size() * cache.block_size; ++i) {
    const Row& value = cache.values[slot_of(block_table, i, cache.block_size)];
    for (std::size_t d = 0; d < query.size(); ++d) output[d] += scores[i] / sum * value[d];
  }
  return output;
}

}  // namespace pagelab::lesson_02
