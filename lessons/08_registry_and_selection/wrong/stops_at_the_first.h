// Wrong in task 2: the first reason is returned, and the user repairs one after the other.
// Everything else is the solution's.
#pragma once

#define validate_configuration right_validate_configuration
#include "lessons/08_registry_and_selection/solution.h"
#undef validate_configuration

namespace pagelab::lesson_08 {

inline std::vector<std::string> validate_configuration(const BackendFacts& facts,
                                                       const SelectionQuestion& question) {
  std::vector<std::string> reasons = right_validate_configuration(facts, question);
  if (reasons.size() > 1) reasons.resize(1);
  return reasons;
}

}  // namespace pagelab::lesson_08
