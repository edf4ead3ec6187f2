/// \file
/// How the check finds the functions of an answer: answer.cpp is compiled with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lessons/08_registry_and_selection/questions.h"
#include "reference/registry/backend_facts.h"
#include "reference/registry/registration.h"

namespace pagelab::lesson_08 {

/// What an answer has, and where it was found.
struct Answer {
  const char* path;  ///< of the file
  /// Task 1.
  std::vector<std::string> (*predict_choices)();
  /// Task 2.
  std::vector<std::string> (*validate_configuration)(const BackendFacts& facts,
                                                     const SelectionQuestion& question);
  /// Task 3.
  std::optional<Settings> (*repair)(const Report& report);
  /// Task 4.
  void (*register_tiny_attn)(BackendRegistry& registry);
};

/// The answer that is judged.
Answer answer();

}  // namespace pagelab::lesson_08
