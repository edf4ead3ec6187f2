// Wrong in task 1: who stands first is taken without being asked.
// Everything else is the solution's.
#pragma once

#define predict_choices right_predict_choices
#include "lessons/08_registry_and_selection/solution.h"
#undef predict_choices

namespace pagelab::lesson_08 {

inline std::vector<std::string> predict_choices() {
  std::vector<std::string> choices(10, "FLASH_ATTN");
  choices[1] = "FLASHINFER";
  choices[3] = "FLASHINFER";
  return choices;
}

}  // namespace pagelab::lesson_08
