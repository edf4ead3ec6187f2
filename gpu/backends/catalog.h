/// \file
/// Every backend that pagelab implements, and how it is made: one line a backend in catalog.cpp; what it
/// takes is a row in reference/registry/implementation.cpp. A backend of one's own brings both along when
/// it is registered. What vLLM's registry holds is another table (reference/registry/catalogue.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reference/registry/backend.h"
#include "reference/registry/implementation.h"

namespace pagelab {

/// A backend: its name, the targets that it runs on, what it takes, and how it is made.
struct BackendChoice : Implementation {
  /// Makes the backend for one of its targets. \throws Error if the target is not present
  std::function<std::unique_ptr<AttentionBackend>(const std::string& target)> make;
};

/// All backends, the references first, then those of register_backend.h.
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
