#include "gpu/backends/register_backend.h"

#include <algorithm>

#include "reference/contract/refuse.h"
#include "reference/registry/catalogue.h"

namespace pagelab {
namespace {

// Elements of a deque stay where they are, so rows may point to the texts of their own element.
std::deque<BackendChoice>& own_backends() {
  static std::deque<BackendChoice> backends;
  return backends;
}

std::deque<std::string>& own_paths() {
  static std::deque<std::string> paths;
  return paths;
}

// Whether the real one has rules of its own.
bool has_rules_of_vllm(const std::string& name) {
  const std::vector<const BackendFacts*>& rows = attention_backends();
  return std::any_of(rows.begin(), rows.end(), [&](const BackendFacts* row) {
    return row->name == name && !row->class_name.empty();
  });
}

void check(const BackendChoice& choice) {
  for (const BackendChoice& known : all_backends()) {
    if (known.name == choice.name) {
      refuse("pagelab has a backend {} already: register yours under another name.", choice.name);
    }
  }
  if (choice.targets.empty()) {
    refuse("backend {} runs nowhere: name its targets, cpu, simulator or cuda.", choice.name);
  }
  for (const std::string& target : choice.targets) {
    if (target != "cpu" && target != "simulator" && target != "cuda") {
      refuse("backend {} has the target {}; a target is cpu, simulator or cuda.", choice.name,
             target);
    }
  }
  if (!choice.make) refuse("nothing makes backend {}: its `make` is empty.", choice.name);
}

// What a row needs for the registry to load it.
void fill_names(BackendChoice& choice) {
  BackendFacts& takes = choice.takes;
  if (takes.name.empty()) takes.name = choice.name;
  if (takes.class_name.empty()) takes.class_name = choice.name;
  if (takes.get_name.empty()) takes.get_name = choice.name;
  if (takes.family.empty()) takes.family = "registered";
  if (!takes.path) takes.path = own_paths().emplace_back("registered." + choice.name);
}

}  // namespace

std::string register_backend(BackendChoice choice) {
  check(choice);
  BackendRegistry registry = registry_in_use();
  // Refuses a name that is no identifier, or means something else in the enum.
  const std::vector<std::string> members = registry.names();
  if (std::find(members.begin(), members.end(), choice.name) == members.end()) {
    registry.add_member(choice.name, "registered." + choice.name);
  }
  BackendChoice& own = own_backends().emplace_back(std::move(choice));
  fill_names(own);
  return "Registered new attention backend: " + own.name + " -> " + std::string(*own.takes.path);
}

const std::deque<BackendChoice>& registered_backends() { return own_backends(); }

BackendRegistry registry_in_use() {
  BackendRegistry registry = BackendRegistry::of_attention();
  for (const BackendChoice& choice : own_backends()) {
    if (!has_rules_of_vllm(choice.name)) registry.register_backend(choice.name, choice.takes);
  }
  return registry;
}

}  // namespace pagelab
