// Wrong in task 5: the last block is read to its end.
// Everything else is the solution's.
#pragma once

#define attend_in_place right_attend_in_place
#include "lessons/02_block_tables/solution.h"
#undef attend_in_place

namespace pagelab::lesson_02 {

inline Row attend_in_place(const Row& query,
                           const PagedCache& cache,
                           const BlockTableRow& block_table,
                           int) {
  const int all_slots = block_table.size() * cache.block_size;
  return attend(query, gather(cache.keys, block_table, all_slots, cache.block_size),
                gather(cache.values, block_table, all_slots, cache.block_size));
}

}  // namespace pagelab::lesson_02
