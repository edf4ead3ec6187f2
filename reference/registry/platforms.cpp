#include "reference/registry/platforms.h"

namespace pagelab {
namespace {

std::string member_for_cpu(const SelectionQuestion& question,
                           const std::optional<std::string>& asked_for,
                           bool has_amx_tiles) {
  if (!question.config.use_mla) return "CPU_ATTN";
  return has_amx_tiles && asked_for != "CPU_MLA" ? "AMX_MLA" : "CPU_MLA";
}

}  // namespace

Selection select_attention_backend_on_cpu(const SelectionQuestion& question,
                                          const std::optional<std::string>& asked_for,
                                          bool has_amx_tiles,
                                          const BackendRegistry& registry) {
  if (asked_for) registry.check_member(*asked_for);
  Selection selection;
  if (question.config.use_sparse) {
    selection.error = {"NotImplementedError", "Sparse Attention is not supported on CPU."};
    return selection;
  }
  const std::string member = member_for_cpu(question, asked_for, has_amx_tiles);
  selection.selected = member;
  selection.facts = &registry.load(member, question.environment);
  selection.candidates = {member};
  selection.valid = {member};
  if (asked_for && asked_for != member) {
    selection.warning = "Cannot use AttentionBackendEnum." + *asked_for + " backend on CPU.";
  }
  if (question.config.use_mla) selection.info = "Using " + member + " backend.";
  return selection;
}

}  // namespace pagelab
