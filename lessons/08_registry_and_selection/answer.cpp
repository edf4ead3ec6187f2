// The functions of an answer.

#include "lessons/08_registry_and_selection/answer.h"
#include PAGELAB_ANSWER

namespace pagelab::lesson_08 {

Answer answer() {
  return {
      .path = PAGELAB_ANSWER,
      .predict_choices = predict_choices,
      .validate_configuration = validate_configuration,
      .repair = repair,
      .register_tiny_attn = register_tiny_attn,
  };
}

}  // namespace pagelab::lesson_08
