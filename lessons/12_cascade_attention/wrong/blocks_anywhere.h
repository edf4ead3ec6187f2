// Wrong in task 2: a block counts wherever it stands in the other tables.
// Everything else is the solution's.
#pragma once

#define cascade_prefix_len right_cascade_prefix_len
#include "lessons/12_cascade_attention/solution.h"
#undef cascade_prefix_len

namespace pagelab::lesson_12 {

inline int cascade_prefix_len(const std::vector<std::vector<int>>& tables,
                              const std::vector<int>& num_computed_tokens,
                              int block_size) {
  std::vector<int> prefix;
  for (const int block : tables[0]) {
    const auto has_block = [&](const std::vector<int>& table) {
      return std::ranges::find(table, block) != table.end();
    };
    if (!std::ranges::all_of(tables, has_block)) break;
    prefix.push_back(block);
  }
  return right_cascade_prefix_len({prefix}, num_computed_tokens, block_size);
}

}  // namespace pagelab::lesson_12
