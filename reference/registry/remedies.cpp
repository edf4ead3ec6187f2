#include "reference/registry/remedies.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "reference/registry/gpu_names.h"
#include "reference/registry/kv_cache_dtypes.h"
#include "reference/registry/validate_configuration.h"

namespace pagelab {
namespace {

// One change of a question, as users would name it.
struct Change {
  std::string what;   // "a GPU of", "no attention sinks"
  std::string value;  // "9.0"; empty: `what` says it all
  std::function<void(SelectionQuestion&)> apply;
};

// All that could be changed, in the order in which remedies are listed.
class Changes {
 public:
  template <typename Value, typename Apply>
  void add_values(const std::string& what,
                  const std::vector<std::pair<std::string, Value>>& values,
                  const Apply& apply) {
    for (const auto& named : values) {
      changes_.push_back(
          {what, named.first,
           [apply, value = named.second](SelectionQuestion& changed) { apply(changed, value); }});
    }
  }
  template <typename Apply>
  void add(const std::string& what, const Apply& apply) {
    changes_.push_back({what, "", apply});
  }
  std::vector<Change> take() { return std::move(changes_); }

 private:
  std::vector<Change> changes_;
};

std::vector<std::string> reasons_after(const BackendFacts& facts,
                                       SelectionQuestion question,
                                       const std::vector<const Change*>& changes) {
  for (const Change* change : changes) change->apply(question);
  return validate_configuration(facts, question);
}

// Adds a change to the list; values of the same setting stand together.
void add_remedy(const Change& change, std::vector<Remedy>& remedies) {
  if (remedies.empty() || remedies.back().what != change.what)
    remedies.push_back({change.what, {}});
  if (!change.value.empty()) remedies.back().values.push_back(change.value);
}

template <typename Value>
std::vector<std::pair<std::string, Value>> numbers(const std::vector<Value>& values) {
  std::vector<std::pair<std::string, Value>> named;
  for (const Value value : values) named.emplace_back(std::to_string(value), value);
  return named;
}

std::vector<std::pair<std::string, std::string>> cache_dtypes() {
  std::vector<std::pair<std::string, std::string>> named;
  for (const std::string_view name : kv_cache_dtype_names()) named.emplace_back(name, name);
  return named;
}

// The generations that have a name, each once.
std::vector<std::pair<std::string, DeviceCapability>> generations() {
  std::vector<std::pair<std::string, DeviceCapability>> named;
  for (const GpuName& gpu : gpu_names()) {
    const std::string text = to_string(gpu.capability);
    if (named.empty() || named.back().first != text) named.emplace_back(text, gpu.capability);
  }
  return named;
}

struct FlagName {
  const char* without;  // how to say that the flag is not set
  bool AttentionSelectorConfig::*flag;
};

constexpr std::array<FlagName, 13> kFlags = {
    {{"a layer that is not latent", &AttentionSelectorConfig::use_mla},
     {"no attention sinks", &AttentionSelectorConfig::has_sink},
     {"a layer that is not sparse", &AttentionSelectorConfig::use_sparse},
     {"no prefix masks", &AttentionSelectorConfig::use_mm_prefix},
     {"no per-head scales", &AttentionSelectorConfig::use_per_head_quant_scales},
     {"no sliding window", &AttentionSelectorConfig::has_sliding_window},
     {"a causal mask", &AttentionSelectorConfig::use_non_causal},
     {"no batch invariance", &AttentionSelectorConfig::use_batch_invariant},
     {"no KV connector", &AttentionSelectorConfig::use_kv_connector},
     {"no PCP", &AttentionSelectorConfig::use_pcp},
     {"no adaptive verification", &AttentionSelectorConfig::use_adaptive_verification},
     {"no DCP", &AttentionSelectorConfig::use_dcp},
     {"no R-SWA", &AttentionSelectorConfig::use_rswa}}};

void add_settings(Changes& changes, const SelectionQuestion& question) {
  changes.add_values("--kv-cache-dtype", cache_dtypes(),
                     [](SelectionQuestion& changed, const std::string& dtype) {
                       changed.config.kv_cache_dtype = dtype;
                     });
  if (question.config.block_size) {
    changes.add("no --block-size",
                [](SelectionQuestion& changed) { changed.config.block_size.reset(); });
    changes.add_values("--block-size", numbers<std::int64_t>({16, 32, 64, 128, 256}),
                       [](SelectionQuestion& changed, std::int64_t block_size) {
                         changed.config.block_size = block_size;
                       });
  }
  const std::vector<std::pair<std::string, std::string>> dtypes = {
      {"float16", "float16"}, {"bfloat16", "bfloat16"}, {"float32", "float32"}};
  changes.add_values("--dtype", dtypes, [](SelectionQuestion& changed, const std::string& dtype) {
    changed.config.dtype = dtype;
  });
  changes.add_values("a GPU of", generations(),
                     [](SelectionQuestion& changed, DeviceCapability capability) {
                       changed.capability = capability;
                     });
}

void add_layers(Changes& changes, const SelectionQuestion& question) {
  changes.add_values("heads of",
                     numbers<std::int64_t>({32, 64, 80, 96, 128, 192, 256, 320, 512, 576}),
                     [](SelectionQuestion& changed, std::int64_t head_size) {
                       changed.config.head_size = head_size;
                     });
  for (const FlagName& name : kFlags) {
    if (!(question.config.*name.flag)) continue;
    changes.add(name.without,
                [flag = name.flag](SelectionQuestion& changed) { changed.config.*flag = false; });
  }
  if (!question.config.use_mla) {
    changes.add("a latent layer",
                [](SelectionQuestion& changed) { changed.config.use_mla = true; });
  }
  if (!question.config.use_sparse) {
    changes.add("a sparse layer",
                [](SelectionQuestion& changed) { changed.config.use_sparse = true; });
  }
  if (question.config.attn_type != AttentionType::kDecoder) {
    changes.add("a decoder's attention", [](SelectionQuestion& changed) {
      changed.config.attn_type = AttentionType::kDecoder;
    });
  }
}

std::vector<Change> changes_of(const SelectionQuestion& question) {
  Changes changes;
  add_settings(changes, question);
  add_layers(changes, question);
  return changes.take();
}

// Looks for `num_changes` more changes that leave no reason, each of another setting than those before.
// \returns whether there are such; they are in `chosen` then
bool find_changes(const BackendFacts& facts,
                  const SelectionQuestion& question,
                  const std::vector<Change>& changes,
                  std::size_t first,
                  int num_changes,
                  std::vector<const Change*>& chosen) {
  if (num_changes == 0) return reasons_after(facts, question, chosen).empty();
  for (std::size_t change_idx = first; change_idx < changes.size(); ++change_idx) {
    const Change& change = changes[change_idx];
    if (!chosen.empty() && chosen.back()->what == change.what) continue;
    chosen.push_back(&change);
    if (find_changes(facts, question, changes, change_idx + 1, num_changes - 1, chosen))
      return true;
    chosen.pop_back();
  }
  return false;
}

}  // namespace

std::vector<Remedy> remedies_for(const BackendFacts& facts,
                                 const SelectionQuestion& question,
                                 const std::string& reason) {
  std::vector<Remedy> remedies;
  for (const Change& change : changes_of(question)) {
    const std::vector<std::string> left = reasons_after(facts, question, {&change});
    if (std::find(left.begin(), left.end(), reason) == left.end()) add_remedy(change, remedies);
  }
  return remedies;
}

std::vector<Remedy> joint_remedy_for(const BackendFacts& facts, const SelectionQuestion& question) {
  constexpr int kMostChanges = 3;
  const std::vector<Change> changes = changes_of(question);
  for (int num_changes = 1; num_changes <= kMostChanges; ++num_changes) {
    std::vector<const Change*> chosen;
    if (!find_changes(facts, question, changes, 0, num_changes, chosen)) continue;
    std::vector<Remedy> remedies;
    for (const Change* change : chosen) add_remedy(*change, remedies);
    return remedies;
  }
  return {};
}

std::string to_string(const std::vector<Remedy>& remedies) { return to_string(remedies, "; "); }

std::string to_string(const std::vector<Remedy>& remedies, const std::string& separator) {
  std::string text;
  for (const Remedy& remedy : remedies) {
    if (!text.empty()) text += separator;
    text += remedy.what;
    for (std::size_t value_idx = 0; value_idx < remedy.values.size(); ++value_idx) {
      const bool is_last = value_idx + 1 == remedy.values.size();
      text += value_idx == 0 ? " " : is_last ? " or " : ", ";
      text += remedy.values[value_idx];
    }
  }
  return text;
}

}  // namespace pagelab
