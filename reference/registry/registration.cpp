#include "reference/registry/registration.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "reference/registry/catalogue.h"
#include "reference/registry/python_text.h"
#include "reference/registry/raised_error.h"

namespace pagelab {
namespace {

// What the enum's class already calls something else.
constexpr std::array<std::string_view, 5> kReservedNames = {"register", "get_path", "get_class",
                                                            "is_overridden", "clear_override"};

bool is_letter_or_underscore(char character) {
  return character == '_' || (character >= 'a' && character <= 'z') ||
         (character >= 'A' && character <= 'Z');
}

bool is_identifier(const std::string& name) {
  return !name.empty() && is_letter_or_underscore(name.front()) &&
         std::all_of(name.begin(), name.end(), [](char character) {
           return is_letter_or_underscore(character) || (character >= '0' && character <= '9');
         });
}

bool is_reserved(const std::string& name) {
  return std::find(kReservedNames.begin(), kReservedNames.end(), name) != kReservedNames.end();
}

std::string module_part(const std::string& path) { return path.substr(0, path.rfind('.')); }

// What Python names when nothing lies at a path: of a package that is not there, the package.
std::string missing_module(const std::string& path) {
  return path.starts_with("vllm.") ? module_part(path) : path.substr(0, path.find('.'));
}

}  // namespace

BackendRegistry::BackendRegistry(std::string enum_name,
                                 const std::vector<const BackendFacts*>& rows)
    : enum_name_(std::move(enum_name)), rows_(rows) {
  for (const BackendFacts* row : rows) {
    members_.push_back(
        {std::string(row->name), std::string(row->path.value_or("")), std::string(row->package)});
  }
}

BackendRegistry BackendRegistry::of_attention() { return of_attention(attention_backends()); }

BackendRegistry BackendRegistry::of_attention(const std::vector<const BackendFacts*>& rows) {
  return {"AttentionBackendEnum", rows};
}

BackendRegistry BackendRegistry::of_mamba() { return of_mamba(mamba_attention_backends()); }

BackendRegistry BackendRegistry::of_mamba(const std::vector<const BackendFacts*>& rows) {
  return {"MambaAttentionBackendEnum", rows};
}

std::vector<std::string> BackendRegistry::names() const {
  std::vector<std::string> names;
  for (const Member& member : members_) names.push_back(member.name);
  return names;
}

const BackendRegistry::Member& BackendRegistry::member(const std::string& name) const {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const Member& member) { return member.name == name; });
  if (found == members_.end()) {
    throw RaisedError("ValueError", "Unknown attention backend: '" + name +
                                        "'. Valid options are: " + comma_separated(names()));
  }
  return *found;
}

void BackendRegistry::check_member(const std::string& name) const { member(name); }

const std::string& BackendRegistry::path_of(const std::string& name) const {
  const auto overriding = overrides_.find(name);
  const Member& named = member(name);
  const std::string& path = overriding == overrides_.end() ? named.value : overriding->second;
  if (path.empty()) {
    throw RaisedError("ValueError", "Backend " + name +
                                        " must be registered before use. Use register_backend("
                                        "Backend." +
                                        name + ", 'your.module.YourClass')");
  }
  return path;
}

std::string BackendRegistry::module_of(const std::string& name) const {
  return module_part(path_of(name));
}

void BackendRegistry::override_path(const std::string& name, const std::string& path) {
  check_member(name);
  overrides_[name] = path;
}

bool BackendRegistry::is_overridden(const std::string& name) const {
  return overrides_.count(name) > 0;
}

void BackendRegistry::clear_override(const std::string& name) { overrides_.erase(name); }

std::string BackendRegistry::add_member(const std::string& name, const std::string& path) {
  const bool exists = std::any_of(members_.begin(), members_.end(),
                                  [&](const Member& member) { return member.name == name; });
  if (exists) {
    throw RaisedError("ValueError", "Backend " + name + " already exists in " + enum_name_ +
                                        ". Use register_backend(" + enum_name_ + "." + name +
                                        ", '" + path + "') to override.");
  }
  if (!is_identifier(name) || is_reserved(name)) {
    throw RaisedError("ValueError", "Invalid or reserved backend name: " + name);
  }
  members_.push_back({name, path, name});
  // A name that the registry has made up is overridden from the start: its path lies beside the enum.
  overrides_[name] = path;
  return "Registered new attention backend: " + name + " -> " + path;
}

void BackendRegistry::register_backend(const std::string& name, const BackendFacts& facts) {
  const std::string path(facts.path.value_or(""));
  const bool exists = std::any_of(members_.begin(), members_.end(),
                                  [&](const Member& member) { return member.name == name; });
  if (exists) {
    override_path(name, path);
  } else {
    add_member(name, path);
  }
  registered_rows_.push_back(std::make_shared<const BackendFacts>(facts));
}

const BackendFacts* BackendRegistry::row_of_path(const std::string& path) const {
  // The row registered last is the one that counts.
  for (auto row = registered_rows_.rbegin(); row != registered_rows_.rend(); ++row) {
    if ((*row)->path == path) return row->get();
  }
  for (const BackendFacts* row : rows_) {
    if (row->path == path && !row->class_name.empty()) return row;
  }
  return nullptr;
}

const BackendFacts& BackendRegistry::load(const std::string& name,
                                          const SelectionEnvironment& environment) const {
  const std::vector<std::string>& unavailable = environment.unavailable;
  if (std::find(unavailable.begin(), unavailable.end(), name) != unavailable.end()) {
    throw RaisedError(environment.unavailable_kind, member(name).package + " is not installed");
  }
  const auto without_code = environment.not_implemented.find(name);
  if (without_code != environment.not_implemented.end()) {
    throw RaisedError("ImportError", without_code->second);
  }
  const std::string& path = path_of(name);
  const BackendFacts* row = row_of_path(path);
  if (row == nullptr) {
    throw RaisedError("ModuleNotFoundError", "No module named '" + missing_module(path) + "'");
  }
  return *row;
}

}  // namespace pagelab
