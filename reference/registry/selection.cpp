#include "reference/registry/selection.h"

#include "reference/registry/kv_cache_dtypes.h"
#include "reference/registry/priorities.h"
#include "reference/registry/python_text.h"
#include "reference/registry/raised_error.h"
#include "reference/registry/validate_configuration.h"

namespace pagelab {
namespace {

constexpr const char* kBlockSizeReason = "block_size not supported";

// "{A: [r1, r2], B: [r3]}".
std::string to_string(const std::vector<DeclinedBackend>& declined) {
  std::string text = "{";
  for (const DeclinedBackend& backend : declined) {
    if (text.size() > 1) text += ", ";
    text += backend.name;
    text += ": [";
    text += comma_separated(backend.reasons);
    text += "]";
  }
  return text + "}";
}

Selection refusal_of_forced(const std::string& name,
                            std::vector<std::string> reasons,
                            const std::string& printed_reasons) {
  Selection selection;
  selection.candidates = {name};
  selection.invalid.push_back({name, std::move(reasons)});
  selection.error = {"ValueError",
                     "Selected backend AttentionBackendEnum." + name +
                         " is not valid for this configuration. Reason: " + printed_reasons};
  return selection;
}

Selection ask_forced(const SelectionQuestion& question,
                     const std::string& name,
                     const BackendRegistry& registry) {
  registry.check_member(name);
  const BackendFacts* facts = nullptr;
  try {
    facts = &registry.load(name, question.environment);
  } catch (const RaisedError& error) {
    if (error.is_import_failure()) {
      return refusal_of_forced(name, {error.with_kind()}, "[" + error.with_kind() + "]");
    }
    Selection selection;
    selection.candidates = {name};
    selection.error = {error.kind(), error.what()};
    return selection;
  }
  const std::vector<std::string> reasons = validate_configuration(*facts, question);
  if (!reasons.empty()) return refusal_of_forced(name, reasons, python_list(reasons));
  Selection selection;
  selection.selected = name;
  selection.facts = facts;
  selection.candidates = {name};
  selection.valid = {name};
  selection.info = "Using AttentionBackendEnum." + name + " backend.";
  return selection;
}

// Asks one candidate of the list, and files it under valid or invalid.
void ask_candidate(const SelectionQuestion& question,
                   const std::string& name,
                   const BackendRegistry& registry,
                   Selection& selection) {
  std::vector<std::string> reasons;
  const BackendFacts* facts = nullptr;
  try {
    facts = &registry.load(name, question.environment);
    reasons = validate_configuration(*facts, question);
  } catch (const RaisedError& error) {
    if (!error.is_import_failure()) throw;
    reasons = {error.with_kind()};
  }
  if (!reasons.empty()) {
    selection.invalid.push_back({name, std::move(reasons)});
    return;
  }
  if (selection.valid.empty()) {
    selection.selected = name;
    selection.facts = facts;
  }
  selection.valid.push_back(name);
}

// Candidates before the winner that nothing but the user's block size excluded.
std::vector<std::string> precluded_by_block_size(const Selection& selection,
                                                 const std::vector<std::string_view>& priorities) {
  std::vector<std::string> precluded;
  for (const std::string_view name : priorities) {
    if (name == *selection.selected) break;
    for (const DeclinedBackend& declined : selection.invalid) {
      const bool block_size_alone =
          declined.reasons.size() == 1 && declined.reasons.front() == kBlockSizeReason;
      if (declined.name == name && block_size_alone) precluded.push_back(declined.name);
    }
  }
  return precluded;
}

std::optional<std::string> block_size_warning(const SelectionQuestion& question,
                                              const Selection& selection,
                                              const std::vector<std::string_view>& priorities) {
  if (!question.config.block_size) return std::nullopt;
  const std::vector<std::string> precluded = precluded_by_block_size(selection, priorities);
  if (precluded.empty()) return std::nullopt;
  return "--block-size " + std::to_string(*question.config.block_size) +
         " precluded higher-priority backend(s) " + comma_separated(precluded) + ". Using " +
         *selection.selected +
         " instead, which may result in reduced performance. Consider removing --block-size to "
         "auto-select the optimal block size.";
}

}  // namespace

Selection select_among(const SelectionQuestion& question,
                       const std::vector<std::string_view>& candidates,
                       const BackendRegistry& registry) {
  Selection selection;
  selection.candidates.assign(candidates.begin(), candidates.end());
  for (const std::string& name : selection.candidates) {
    ask_candidate(question, name, registry, selection);
  }
  const std::string asked_and_reasons = " for cuda with " + to_string(question.config) +
                                        ". Reasons: " + to_string(selection.invalid) + ".";
  if (!selection.invalid.empty()) {
    selection.debug = "Some attention backends are not valid" + asked_and_reasons;
  }
  if (!selection.selected) {
    selection.error = {"ValueError", "No valid attention backend found" + asked_and_reasons};
    return selection;
  }
  selection.warning = block_size_warning(question, selection, candidates);
  selection.info = "Using " + *selection.selected +
                   " attention backend out of potential backends: " + python_list(selection.valid) +
                   ".";
  return selection;
}

Selection select_attention_backend(const SelectionQuestion& question,
                                   const std::optional<std::string>& forced,
                                   const BackendRegistry& registry) {
  return forced ? ask_forced(question, *forced, registry)
                : select_among(question, backend_priorities(question), registry);
}

std::optional<std::string> kv_cache_dtype_after_selection(
    const std::string& selected, const std::optional<std::string>& kv_cache_dtype) {
  if (selected == "FLASHMLA_SPARSE" && is_quantized_kv_cache(kv_cache_dtype) &&
      kv_cache_dtype != "nvfp4_ds_mla") {
    return "fp8_ds_mla";
  }
  if (selected == "FLASHINFER_MLA_SPARSE_SM120" &&
      (kv_cache_dtype == "auto" || kv_cache_dtype == "fp8" || kv_cache_dtype == "fp8_e4m3")) {
    return "fp8_ds_mla";
  }
  return kv_cache_dtype;
}

}  // namespace pagelab
