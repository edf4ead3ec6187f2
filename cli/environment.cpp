#include "cli/environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "reference/contract/suggestion.h"

namespace pagelab::cli {
namespace {

// Those that the program reads, and those of its tests and benchmarks.
const std::vector<std::string>& known_variables() {
  static const std::vector<std::string> kVariables = {
      "PAGELAB_CORES",   "PAGELAB_SOURCE_DIR", "PAGELAB_REQUIRE_GPU",
      "PAGELAB_THREADS", "PAGELAB_FUZZ_SEED",  "PAGELAB_FUZZ_FOLDERS"};
  return kVariables;
}

void warn_if_unread(const std::string& name) {
  const std::vector<std::string>& known = known_variables();
  if (name == "VLLM_ATTENTION_BACKEND") {
    fmt::print(stderr,
               "warning: VLLM_ATTENTION_BACKEND is not read; select takes --attention-backend, "
               "attend and generate take --backend.\n");
  }
  if (!name.starts_with("PAGELAB_")) return;
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  fmt::print(stderr, "warning: {} is not read{}; the variables are {}.\n", name,
             did_you_mean(name, known), fmt::join(known, ", "));
}

}  // namespace

void warn_of_unread_variables() {
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string text = *variable;
    warn_if_unread(text.substr(0, text.find('=')));
  }
}

}  // namespace pagelab::cli
