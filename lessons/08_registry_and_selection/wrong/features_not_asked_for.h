// Wrong in task 2: a backend without sinks is declined for layers that have none.
// Everything else is the solution's.
#pragma once

#define validate_configuration right_validate_configuration
#include "lessons/08_registry_and_selection/solution.h"
#undef validate_configuration

namespace pagelab::lesson_08 {

inline std::vector<std::string> validate_configuration(const BackendFacts& facts,
                                                       const SelectionQuestion& question) {
  SelectionQuestion asking = question;
  asking.config.has_sink = true;
  return right_validate_configuration(facts, asking);
}

}  // namespace pagelab::lesson_08
