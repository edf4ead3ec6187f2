// Lesson 02, a solution. There are others: the check judges what the functions return.
// No #pragma once: the tests include it once for each wrong answer, which differs from it in one function.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "lessons/02_block_tables/attend.h"
#include "lessons/02_block_tables/paged_cache.h"
#include "lessons/checker/not_solved.h"

namespace pagelab::lesson_02 {

using lessons::NotSolved;

inline std::vector<int> choose_block_table(int seq_len,
                                           int block_size,
                                           const std::vector<int>& free_blocks) {
  // Rounded up: a last block that is only begun is needed all the same.
  const int num_blocks = (seq_len + block_size - 1) / block_size;
  return std::vector<int>(free_blocks.begin(), free_blocks.begin() + num_blocks);
}

inline std::int64_t slot_of(const BlockTableRow& block_table, int position, int block_size) {
  const int logical_block = position / block_size;
  const int block_offset = position % block_size;
  // 64 bits, as in slot_mapping everywhere: physical_block * block_size can pass 2^31.
  const std::int64_t physical_block = block_table[logical_block];
  return physical_block * block_size + block_offset;
}

inline std::vector<std::int64_t> slot_mapping_of(const BlockTableRow& block_table,
                                                 int num_computed_tokens,
                                                 int num_new_tokens,
                                                 int block_size) {
  std::vector<std::int64_t> slot_mapping;
  for (int i = 0; i < num_new_tokens; ++i) {
    // Positions continue where the cache ends; every one asks the table, since slots do not
    // continue from one block to the next.
    slot_mapping.push_back(slot_of(block_table, num_computed_tokens + i, block_size));
  }
  return slot_mapping;
}

inline Rows gather(const Rows& cache_rows,
                   const BlockTableRow& block_table,
                   int seq_len,
                   int block_size) {
  Rows rows;
  for (int position = 0; position < seq_len; ++position) {
    rows.push_back(cache_rows[slot_of(block_table, position, block_size)]);
  }
  return rows;
}

inline Row attend_in_place(const Row& query,
                           const PagedCache& cache,
                           const BlockTableRow& block_table,
                           int seq_len) {
  const int head_size = static_cast<int>(query.size());
  const int block_size = cache.block_size;
  const int num_blocks = (seq_len + block_size - 1) / block_size;

  // Scores, and their maximum.
  Row scores;
  double max_score = -std::numeric_limits<double>::infinity();
  for (int logical_block = 0; logical_block < num_blocks; ++logical_block) {
    const int first_slot = block_table[logical_block] * block_size;  // the one lookup of this block
    // The last block ends where the sequence ends; its other slots are not ours to read.
    const int tokens_here = std::min(block_size, seq_len - logical_block * block_size);
    for (int block_offset = 0; block_offset < tokens_here; ++block_offset) {
      const Row& key = cache.keys[first_slot + block_offset];
      double dot = 0;
      for (int d = 0; d < head_size; ++d) dot += query[d] * key[d];
      scores.push_back(dot / std::sqrt(static_cast<double>(head_size)));
      if (scores.back() > max_score) max_score = scores.back();
    }
  }

  // Exponentials and their sum: the scores are in the order of the sequence, blocks play no part.
  double sum = 0;
  for (double& score : scores) {
    score = std::exp(score - max_score);
    sum += score;
  }

  // Values, each weighted with its share of the sum.
  Row output(head_size, 0.0);
  for (int logical_block = 0; logical_block < num_blocks; ++logical_block) {
    const int first_position = logical_block * block_size;
    const int first_slot = block_table[logical_block] * block_size;
    const int tokens_here = std::min(block_size, seq_len - first_position);
    for (int block_offset = 0; block_offset < tokens_here; ++block_offset) {
      const Row& value = cache.values[first_slot + block_offset];
      const double weight = scores[first_position + block_offset] / sum;
      for (int d = 0; d < head_size; ++d) output[d] += weight * value[d];
    }
  }
  return output;
}

}  // namespace pagelab::lesson_02
