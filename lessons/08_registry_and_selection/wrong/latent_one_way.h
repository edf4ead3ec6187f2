// Wrong in task 2: a backend for latent layers is let pass for all others.
// Everything else is the solution's.
#pragma once

#define validate_configuration right_validate_configuration
#include "lessons/08_registry_and_selection/solution.h"
#undef validate_configuration

namespace pagelab::lesson_08 {

inline std::vector<std::string> validate_configuration(const BackendFacts& facts,
                                                       const SelectionQuestion& question) {
  std::vector<std::string> reasons = right_validate_configuration(facts, question);
  std::erase(reasons, "non-MLA not supported");
  return reasons;
}

}  // namespace pagelab::lesson_08
