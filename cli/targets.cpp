#include "cli/targets.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/option_values.h"
#include "gpu/backends/catalog.h"
#include "gpu/runtime/device.h"

namespace pagelab::cli {

void add_backend_options(CLI::App& command, BackendOptions& options) {
  command.add_option("--backend", options.backend, "which implementation of attention")
      ->capture_default_str()
      ->check(not_empty());
  command
      .add_option("--target", options.target,
                  "cpu, simulator or cuda (default: the first that the backend runs on)")
      ->check(not_empty());
}

std::unique_ptr<AttentionBackend> make_backend(const BackendOptions& options) {
  const std::string target =
      options.target.empty() ? default_target_of(options.backend) : options.target;
  return pagelab::make_backend(options.backend, target);
}

bool target_is_available(const std::string& target, std::string* why_not) {
  const std::vector<std::string> targets = available_targets();
  const bool available = std::find(targets.begin(), targets.end(), target) != targets.end();
  if (!available && why_not != nullptr) {
    *why_not = fmt::format("target {} is not present on this machine.", target);
    if (target == "cuda") cuda_is_available(why_not);
  }
  return available;
}

}  // namespace pagelab::cli
