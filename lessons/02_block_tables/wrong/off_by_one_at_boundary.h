// Wrong in task 2: the first position of a block is looked up in the block before.
// Everything else is the solution's.
#pragma once

#define slot_of right_slot_of
#include "lessons/02_block_tables/solution.h"
#undef slot_of

namespace pagelab::lesson_02 {

inline std::int64_t slot_of(const BlockTableRow& block_table, int position, int block_size) {
  const int logical_block = position == 0 ? 0 : (position - 1) / block_size;
  return block_table[logical_block] * block_size + position % block_size;
}

}  // namespace pagelab::lesson_02
