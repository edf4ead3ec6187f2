// The functions of an answer.

#include "lessons/09_what_a_backend_provides/answer.h"
#include PAGELAB_ANSWER

namespace pagelab::lesson_09 {

Answer answer() {
  return {
      .path = PAGELAB_ANSWER,
      .kv_cache_shape = kv_cache_shape,
      .strides_of = strides_of,
      .split_decodes_and_prefills = split_decodes_and_prefills,
      .build = build,
  };
}

}  // namespace pagelab::lesson_09
