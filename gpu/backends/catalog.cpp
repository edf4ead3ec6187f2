#include "gpu/backends/catalog.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "gpu/backends/naive.h"
#include "gpu/runtime/device.h"
#include "reference/registry/reference_backends.h"

namespace pagelab {
namespace {

std::shared_ptr<Device> device_of(const std::string& target) {
  return target == "cuda" ? cuda_device() : simulator_device();
}

// Single-character edits that turn one word into the other (Levenshtein), row by row.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> distances(b.size() + 1);
  std::iota(distances.begin(), distances.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = distances[0];
    distances[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = distances[j + 1];
      distances[j + 1] = std::min({replaced, distances[j] + 1, distances[j + 1] + 1});
    }
  }
  return distances.back();
}

std::string in_upper_case(std::string text) {
  for (char& letter : text) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  return text;
}

// "; did you mean NAIVE?", or "." if no name is near. Case does not count.
std::string end_with_suggestion(const std::string& wanted, const std::vector<std::string>& names) {
  const auto distance = [&](const std::string& name) {
    return edit_distance(in_upper_case(wanted), in_upper_case(name));
  };
  const auto nearest = std::min_element(
      names.begin(), names.end(),
      [&](const std::string& a, const std::string& b) { return distance(a) < distance(b); });
  // Up to a third of the letters may be wrong, and two in a short name.
  const std::size_t most_edits = std::max<std::size_t>(2, wanted.size() / 3);
  if (distance(*nearest) > most_edits) return ".";
  return fmt::format("; did you mean {}?", *nearest);
}

BackendChoice choice_of(const std::string& name) {
  const std::vector<BackendChoice> choices = all_backends();
  std::vector<std::string> names;
  for (const BackendChoice& choice : choices) {
    if (choice.name == name) return choice;
    names.push_back(choice.name);
  }
  throw Error(fmt::format("there is no backend {}; the backends are {}{}", name,
                          fmt::join(names, ", "), end_with_suggestion(name, names)));
}

void require_known(const std::string& target) {
  const std::vector<std::string> targets = {"cpu", "simulator", "cuda"};
  if (std::find(targets.begin(), targets.end(), target) != targets.end()) return;
  throw Error(fmt::format("there is no target {}; the targets are {}{}", target,
                          fmt::join(targets, ", "), end_with_suggestion(target, targets)));
}

}  // namespace

std::vector<BackendChoice> all_backends() {
  return {
      {"REFERENCE", {"cpu"}, [](const std::string&) { return make_reference_backend(); }},
      {"REFERENCE_FLOAT",
       {"cpu"},
       [](const std::string&) { return make_reference_float_backend(); }},
      {"NAIVE",
       {"simulator", "cuda"},
       [](const std::string& target) { return make_naive_backend(device_of(target)); }},
  };
}

std::vector<std::string> available_targets() {
  std::vector<std::string> targets = {"cpu", "simulator"};
  if (cuda_is_available()) targets.push_back("cuda");
  return targets;
}

std::string default_target_of(const std::string& name) { return choice_of(name).targets.front(); }

std::unique_ptr<AttentionBackend> make_backend(const std::string& name, const std::string& target) {
  const BackendChoice choice = choice_of(name);
  require_known(target);
  if (std::find(choice.targets.begin(), choice.targets.end(), target) == choice.targets.end()) {
    throw Error(fmt::format("backend {} does not run on target {}; it runs on {}.", choice.name,
                            target, fmt::join(choice.targets, " and ")));
  }
  return choice.make(target);
}

}  // namespace pagelab
