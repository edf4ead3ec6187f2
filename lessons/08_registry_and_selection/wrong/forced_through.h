// Wrong in task 3: whatever is in the way, the backend is forced.
// Everything else is the solution's.
#pragma once

#define repair right_repair
#include "lessons/08_registry_and_selection/solution.h"
#undef repair

namespace pagelab::lesson_08 {

inline std::optional<Settings> repair(const Report& report) {
  Settings settings = report.settings;
  settings.attention_backend = report.wanted;
  return settings;
}

}  // namespace pagelab::lesson_08
