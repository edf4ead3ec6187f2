// Wrong in task 1: blocks 0, 1, 2 are taken whether they are free or not.
// Everything else is the solution's.
#pragma once

#define choose_block_table right_choose_block_table
#include "lessons/02_block_tables/solution.h"
#undef choose_block_table

namespace pagelab::lesson_02 {

inline std::vector<int> choose_block_table(int seq_len, int block_size, const std::vector<int>&) {
  std::vector<int> blocks;
  for (int first = 0; first < seq_len; first += block_size) blocks.push_back(first / block_size);
  return blocks;
}

}  // namespace pagelab::lesson_02
