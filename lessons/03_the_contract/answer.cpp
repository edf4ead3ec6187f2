// The functions of an answer.

#include "lessons/03_the_contract/answer.h"
#include PAGELAB_ANSWER

namespace pagelab::lesson_03 {

Answer answer() {
  return {
      .path = PAGELAB_ANSWER,
      .query_start_loc_of = query_start_loc_of,
      .seq_lens_of = seq_lens_of,
      .slot_mapping_of = slot_mapping_of,
      .build_metadata = build_metadata,
      .find_mistake = find_mistake,
  };
}

}  // namespace pagelab::lesson_03
