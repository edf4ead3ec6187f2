// The functions of an answer.

#include "lessons/11_block_manager_and_prefix_caching/answer.h"
#include PAGELAB_ANSWER

namespace pagelab::lesson_11 {

Answer answer() {
  return {
      .path = PAGELAB_ANSWER,
      .block_keys = block_keys,
      .find_hit = find_hit,
      .take = take,
      .release = release,
      .admit = admit,
  };
}

}  // namespace pagelab::lesson_11
