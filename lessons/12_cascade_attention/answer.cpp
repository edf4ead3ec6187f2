// The functions of an answer.

#include "lessons/12_cascade_attention/answer.h"
#include PAGELAB_ANSWER

namespace pagelab::lesson_12 {

Answer answer() {
  return {
      .path = PAGELAB_ANSWER,
      .right_counts = right_counts,
      .cascade_prefix_len = cascade_prefix_len,
      .merge = merge,
      .cascade_attention = cascade_attention,
      .least_requests = least_requests,
  };
}

}  // namespace pagelab::lesson_12
