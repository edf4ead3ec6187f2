// Lesson 08, the exercise: predict a choice, write the checks behind it, find out why a backend was
// declined, register one. Fill the gaps TODO(1) to TODO(4), each in place of the line that throws, and run
// ./pagelab check 8. The text is in README.md, hints are in hints.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lessons/08_registry_and_selection/questions.h"
#include "lessons/checker/not_solved.h"
#include "reference/registry/backend_facts.h"
#include "reference/registry/registration.h"

namespace pagelab::lesson_08 {

using lessons::NotSolved;

/// Which backend vLLM chooses for each layer of ten_layers() in questions.h, or kNobody.
/// \returns  [10] names
inline std::vector<std::string> predict_choices() {
  throw NotSolved{"08", 1};  // TODO(1)
}

/// Every reason why a backend does not serve a layer, in the order of the README's list. (The layers here
/// ask for nothing that the list leaves out.)
/// \param facts     the backend's row
/// \param question  the layer's record, and the GPU
/// \returns         the reasons; empty: it accepts
inline std::vector<std::string> validate_configuration(const BackendFacts& facts,
                                                       const SelectionQuestion& question) {
  throw NotSolved{"08", 2};  // TODO(2)
}

/// Settings under which the user of a report gets the backend wanted. What need not change stays.
/// \param report  one of four_reports() in questions.h
/// \returns       none if no settings do it: the model and the GPU stay as they are
inline std::optional<Settings> repair(const Report& report) {
  throw NotSolved{"08", 3};  // TODO(3)
}

/// What TINY_ATTN accepts, a backend of your own that the README describes.
inline BackendFacts tiny_attn_row() {
  throw NotSolved{"08", 4};  // TODO(4)
}

/// Registers TINY_ATTN with its row.
/// \param registry  where it becomes a member; the others stay as they are
inline void register_tiny_attn(BackendRegistry& registry) {
  throw NotSolved{"08", 4};  // TODO(4)
}

}  // namespace pagelab::lesson_08
