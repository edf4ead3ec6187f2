// The functions of an answer.

#include "lessons/04_online_softmax_and_merging/answer.h"
#include PAGELAB_ANSWER

namespace pagelab::lesson_04 {

Answer answer() {
  return {
      .path = PAGELAB_ANSWER,
      .add_key = add_key,
      .finish = finish,
      .merge_states = merge_states,
      .natural_lse = natural_lse,
      .merge_all = merge_all,
  };
}

}  // namespace pagelab::lesson_04
