/// \file
/// The two options that most subcommands share: which backend, and on which target.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "reference/registry/backend.h"

namespace pagelab::cli {

/// --backend and --target, as the user gave them.
struct BackendOptions {
  std::string backend = "REFERENCE";  ///< a name from the catalog
  std::string target;  ///< cpu, simulator or cuda; empty: the backend's first that is present
};

/// Adds --backend and --target to a subcommand.
void add_backend_options(CLI::App& command, BackendOptions& options);

/// The backend that the options name.
/// \throws Error  if there is no such backend or target, or the target is not present on this
/// machine
std::unique_ptr<AttentionBackend> make_backend(const BackendOptions& options);

/// Whether a target is present on this machine.
/// \param why_not  set to the reason where it is not; may be null
bool target_is_available(const std::string& target, std::string* why_not = nullptr);

}  // namespace pagelab::cli
