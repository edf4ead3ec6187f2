/// \file
/// What pagelab itself implements: beside vLLM's rows of the catalogue, rows of our own in the same form,
/// asked by the same checks. A backend here may take more than the real one of its name, or less. What
/// runs is found in gpu/backends/catalog.h, a line a backend; here is what it takes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reference/registry/backend_facts.h"

namespace pagelab {

/// One of pagelab's own backends.
struct Implementation {
  std::string name;                  ///< vLLM's, where the real one is vLLM's; one name everywhere
  std::vector<std::string> targets;  ///< "cpu", "simulator", "cuda"; the first is the usual one
  BackendFacts takes;                ///< layers that it serves
  /// What else it takes, in words: what a layer's record has no field for.
  std::string_view takes_as_well = {};
};

/// All of pagelab's own, the references first.
const std::vector<Implementation>& implementations();

/// pagelab's own backend of a name; nullptr: pagelab implements no such backend.
const Implementation* find_implementation(std::string_view name);

}  // namespace pagelab
