// The functions of an answer.

#include "lessons/02_block_tables/answer.h"
#include PAGELAB_ANSWER

namespace pagelab::lesson_02 {

Answer answer() {
  return {
      .path = PAGELAB_ANSWER,
      .choose_block_table = choose_block_table,
      .slot_of = slot_of,
      .slot_mapping_of = slot_mapping_of,
      .gather = gather,
      .attend_in_place = attend_in_place,
  };
}

}  // namespace pagelab::lesson_02
