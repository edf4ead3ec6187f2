/// \file
/// Names of backends and the classes behind them: the enum's own, overrides of them, and new names.
/// vLLM keeps one such registry a process. Here it is an object, and whoever selects is handed one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "reference/registry/backend_facts.h"

namespace pagelab {

/// One of vLLM's two enums, with what has been registered on top.
/// \source vLLM v1/attention/backends/registry.py
class BackendRegistry {
 public:
  /// AttentionBackendEnum with nothing registered.
  static BackendRegistry of_attention();
  /// AttentionBackendEnum with other rows, to see what would be chosen if they were so.
  /// \param rows  in place of attention_backends(); must outlive the registry
  static BackendRegistry of_attention(const std::vector<const BackendFacts*>& rows);
  /// MambaAttentionBackendEnum with nothing registered.
  static BackendRegistry of_mamba();
  /// MambaAttentionBackendEnum with other rows, as of_attention(rows).
  static BackendRegistry of_mamba(const std::vector<const BackendFacts*>& rows);

  /// All members, in order of declaration; new ones come last.
  std::vector<std::string> names() const;

  /// \throws RaisedError  listing the members, if the name is not one (letter case counts)
  void check_member(const std::string& name) const;

  /// The path of a member's class: its override, or else its value.
  /// \throws RaisedError  if it has none, or is not a member
  const std::string& path_of(const std::string& name) const;
  /// The path up to the class: "vllm.v1.attention.backends.flash_attn".
  /// \throws RaisedError  if it has none, or is not a member
  std::string module_of(const std::string& name) const;

  /// Puts a path in place of a member's value. \throws RaisedError if it is not a member
  void override_path(const std::string& name, const std::string& path);
  /// Whether a member has an override.
  bool is_overridden(const std::string& name) const;
  /// Goes back to the member's value; nothing happens if it has no override.
  void clear_override(const std::string& name);

  /// Creates a member.
  /// \returns             the line that vLLM logs
  /// \throws RaisedError  if the name exists, is not an identifier, or is reserved
  std::string add_member(const std::string& name, const std::string& path);

  /// Registers a backend of one's own: a member is overridden, another name becomes a new one. What
  /// vLLM's class decorator does.
  /// \param name   the member
  /// \param facts  its row; the path must be the class's, "module.Class"
  /// \throws RaisedError  as add_member
  void register_backend(const std::string& name, const BackendFacts& facts);

  /// The row behind a member, if its class can be loaded.
  /// \param name         a member
  /// \param environment  what cannot be imported
  /// \throws RaisedError  an import failure; or a ValueError for a member without a path
  const BackendFacts& load(const std::string& name, const SelectionEnvironment& environment) const;

 private:
  struct Member {
    std::string name;
    std::string value;    // the path; empty: none
    std::string package;  // what has to be installed
  };

  BackendRegistry(std::string enum_name, const std::vector<const BackendFacts*>& rows);
  const Member& member(const std::string& name) const;
  const BackendFacts* row_of_path(const std::string& path) const;

  std::string enum_name_;
  std::vector<const BackendFacts*> rows_;
  std::vector<Member> members_;
  std::map<std::string, std::string> overrides_;
  std::vector<std::shared_ptr<const BackendFacts>> registered_rows_;
};

}  // namespace pagelab
