// Wrong in task 1: a last block that is only begun is forgotten.
// Everything else is the solution's.
#pragma once

#define choose_block_table right_choose_block_table
#include "lessons/02_block_tables/solution.h"
#undef choose_block_table

namespace pagelab::lesson_02 {

inline std::vector<int> choose_block_table(int seq_len,
                                           int block_size,
                                           const std::vector<int>& free_blocks) {
  return std::vector<int>(free_blocks.begin(), free_blocks.begin() + seq_len / block_size);
}

}  // namespace pagelab::lesson_02
