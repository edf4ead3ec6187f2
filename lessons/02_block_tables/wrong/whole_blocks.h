// Wrong in task 4: whole blocks are copied, the unused slots of the last one too.
// Everything else is the solution's.
#pragma once

#define gather right_gather
#include "lessons/02_block_tables/solution.h"
#undef gather

namespace pagelab::lesson_02 {

inline Rows gather(const Rows& cache_rows, const BlockTableRow& block_table, int, int block_size) {
  Rows rows;
  for (int position = 0; position < block_table.size() * block_size; ++position) {
    rows.push_back(cache_rows[slot_of(block_table, position, block_size)]);
  }
  return rows;
}

}  // namespace pagelab::lesson_02
