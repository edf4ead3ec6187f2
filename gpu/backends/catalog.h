/// \file
/// Every backend that pagelab implements, and where it runs: one line a backend in catalog.cpp. What
/// vLLM's registry holds is another table.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reference/registry/backend.h"

namespace pagelab {

/// A backend and the targets that it runs on.
struct BackendChoice {
  std::string name;                  ///< one name everywhere: options, messages, tables
  std::vector<std::string> targets;  ///< "cpu", "simulator", "cuda"; the first is the usual one
  /// Makes the backend for one of its targets. \throws Error if the target is not present
  std::function<std::unique_ptr<AttentionBackend>(const std::string& target)> make;
};

/// All backends, the references first.
std::vector<BackendChoice> all_backends();

/// The targets of this machine: "cpu", "simulator", and "cuda" if there is a GPU that runs our code.
std::vector<std::string> available_targets();

/// The target that a backend runs on when the user names none: its first.
/// \throws Error  if there is no such backend
std::string default_target_of(const std::string& name);

/// A backend on a target.
/// \param name    as in all_backends()
/// \param target  "cpu", "simulator" or "cuda"
/// \throws Error  naming what is allowed, and the nearest name, if there is no such backend or
/// target, the backend does not run there, or there is no GPU
std::unique_ptr<AttentionBackend> make_backend(const std::string& name, const std::string& target);

}  // namespace pagelab
