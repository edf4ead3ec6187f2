// The functions of an answer.

#include "lessons/01_contiguous_attention/answer.h"
#include PAGELAB_ANSWER

namespace pagelab::lesson_01 {

Answer answer() {
  return {
      .path = PAGELAB_ANSWER,
      .scores_of = scores_of,
      .softmax = softmax,
      .weighted_values = weighted_values,
      .is_visible = is_visible,
      .causal_attention = causal_attention,
  };
}

}  // namespace pagelab::lesson_01
