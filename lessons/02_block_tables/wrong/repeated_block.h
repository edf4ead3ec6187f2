// Wrong in task 1: the same free block is handed out again and again; later tokens overwrite
// earlier ones. Everything else is the solution's.
#pragma once

#define choose_block_table right_choose_block_table
#include "lessons/02_block_tables/solution.h"
#undef choose_block_table

namespace pagelab::lesson_02 {

inline std::vector<int> choose_block_table(int seq_len,
                                           int block_size,
                                           const std::vector<int>& free_blocks) {
  const int num_blocks = (seq_len + block_size - 1) / block_size;
  return std::vector<int>(num_blocks, free_blocks[0]);
}

}  // namespace pagelab::lesson_02
