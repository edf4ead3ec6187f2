// Wrong in task 3: the computed tokens are forgotten and overwritten.
// Everything else is the solution's.
#pragma once

#define slot_mapping_of right_slot_mapping_of
#include "lessons/02_block_tables/solution.h"
#undef slot_mapping_of

namespace pagelab::lesson_02 {

inline std::vector<std::int64_t> slot_mapping_of(const BlockTableRow& block_table,
                                                 int,
                                                 int num_new_tokens,
                                                 int block_size) {
  std::vector<std::int64_t> slot_mapping;
  for (int i = 0; i < num_new_tokens; ++i)
    slot_mapping.push_back(slot_of(block_table, i, block_size));
  return slot_mapping;
}

}  // namespace pagelab::lesson_02
