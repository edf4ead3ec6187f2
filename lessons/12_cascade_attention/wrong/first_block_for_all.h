// Wrong in task 2: the last common block is taken to say that those before it are common, too.
// Everything else is the solution's.
#pragma once

#define cascade_prefix_len right_cascade_prefix_len
#include "lessons/12_cascade_attention/solution.h"
#undef cascade_prefix_len

namespace pagelab::lesson_12 {

inline int cascade_prefix_len(const std::vector<std::vector<int>>& tables,
                              const std::vector<int>& num_computed_tokens,
                              int block_size) {
  std::size_t num_common = 0;
  for (std::size_t column = 0; column < tables[0].size(); ++column) {
    const auto is_same = [&](const std::vector<int>& table) {
      return column < table.size() && table[column] == tables[0][column];
    };
    if (std::ranges::all_of(tables, is_same)) num_common = column + 1;
  }
  std::vector<int> prefix(tables[0].begin(), tables[0].begin() + num_common);
  return right_cascade_prefix_len({prefix}, num_computed_tokens, block_size);
}

}  // namespace pagelab::lesson_12
