// Wrong in task 2: the table is not asked; right for the table 0, 1, 2 alone.
// Everything else is the solution's.
#pragma once

#define slot_of right_slot_of
#include "lessons/02_block_tables/solution.h"
#undef slot_of

namespace pagelab::lesson_02 {

inline std::int64_t slot_of(const BlockTableRow&, int position, int block_size) {
  return (position / block_size) * block_size + position % block_size;
}

}  // namespace pagelab::lesson_02
