#include "reference/registry/other_selections.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "reference/registry/priorities.h"
#include "reference/registry/python_text.h"
#include "reference/registry/raised_error.h"

namespace pagelab {
namespace {

constexpr const char* kTorchSdpa = "TORCH_SDPA";

// "<AttentionBackendEnum.TORCH_SDPA: ''>": how Python prints a member in a list. An override does
// not change it.
std::string printed_member(std::string_view name) {
  std::string value;
  if (name != kTorchSdpa) value = BackendRegistry::of_attention().path_of(std::string(name));
  return "<AttentionBackendEnum." + std::string(name) + ": '" + value + "'>";
}

void check_in_list(const std::string& asked_for, const std::vector<std::string_view>& list) {
  if (std::find(list.begin(), list.end(), asked_for) != list.end()) return;
  std::vector<std::string> members;
  for (const std::string_view name : list) members.push_back(printed_member(name));
  throw RaisedError("AssertionError", "Backend AttentionBackendEnum." + asked_for +
                                          " is not supported for vit attention. Supported backends "
                                          "are: [" +
                                          comma_separated(members) + "]");
}

bool takes_vision_tower(const std::string& name,
                        const SelectionQuestion& question,
                        const BackendRegistry& registry) {
  try {
    const BackendFacts& facts = registry.load(name, question.environment);
    return supports_head_size(facts, question) && supports_dtype(facts, question) &&
           supports_compute_capability(facts, question);
  } catch (const RaisedError& error) {
    if (error.is_import_failure()) return false;
    throw;
  }
}

}  // namespace

const BackendFacts& mamba_attention_backend(const std::string& name,
                                            bool batch_invariant,
                                            const BackendRegistry& registry) {
  const SelectionQuestion question;
  const BackendFacts& facts = registry.load(name, question.environment);
  if (batch_invariant && !facts.supports_batch_invariance(question)) {
    throw RaisedError("RuntimeError", "VLLM batch_invariant mode is not supported for " +
                                          std::string(facts.get_name) + ".");
  }
  return facts;
}

std::string vit_attention_backend(const SelectionQuestion& question,
                                  const std::optional<std::string>& asked_for,
                                  const BackendRegistry& registry) {
  const std::vector<std::string_view>& list = vit_backend_priorities(question.capability);
  if (asked_for) {
    check_in_list(*asked_for, list);
    return *asked_for;
  }
  for (const std::string_view name : list) {
    if (name == kTorchSdpa || takes_vision_tower(std::string(name), question, registry)) {
      return std::string(name);
    }
  }
  return kTorchSdpa;
}

std::string vit_log_line(const std::string& selected) {
  return "Using backend AttentionBackendEnum." + selected + " for vit attention";
}

}  // namespace pagelab
