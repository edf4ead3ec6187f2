// Wrong in task 3: the table is asked once and counted on from there, into somebody else's block.
// Everything else is the solution's.
#pragma once

#define slot_mapping_of right_slot_mapping_of
#include "lessons/02_block_tables/solution.h"
#undef slot_mapping_of

namespace pagelab::lesson_02 {

inline std::vector<std::int64_t> slot_mapping_of(const BlockTableRow& block_table,
                                                 int num_computed_tokens,
                                                 int num_new_tokens,
                                                 int block_size) {
  std::vector<std::int64_t> slot_mapping;
  if (num_new_tokens == 0) return slot_mapping;
  const std::int64_t first = slot_of(block_table, num_computed_tokens, block_size);
  for (int i = 0; i < num_new_tokens; ++i) slot_mapping.push_back(first + i);
  return slot_mapping;
}

}  // namespace pagelab::lesson_02
