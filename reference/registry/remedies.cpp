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

using Change = std::function<void(SelectionQuestion&)>;

// Tries changes of one question against one reason.
class Trial {
 public:
  Trial(const BackendFacts& facts, const SelectionQuestion& question, const std::string& reason)
      : facts_(facts), question_(question), reason_(reason) {}

  bool removes_reason(const Change& change) const {
    SelectionQuestion changed = question_;
    change(changed);
    const std::vector<std::string> reasons = validate_configuration(facts_, changed);
    return std::find(reasons.begin(), reasons.end(), reason_) == reasons.end();
  }

  // Adds the values of one setting that remove the reason.
  template <typename Value, typename Apply>
  void try_values(const std::string& what,
                  const std::vector<std::pair<std::string, Value>>& values,
                  const Apply& apply) {
    Remedy remedy{what, {}};
    for (const auto& [name, value] : values) {
      if (removes_reason([&](SelectionQuestion& changed) { apply(changed, value); })) {
        remedy.values.push_back(name);
      }
    }
    if (!remedy.values.empty()) remedies_.push_back(remedy);
  }

  void try_change(const std::string& what, const Change& change) {
    if (removes_reason(change)) remedies_.push_back({what, {}});
  }

  std::vector<Remedy> take() { return std::move(remedies_); }

 private:
  const BackendFacts& facts_;
  const SelectionQuestion& question_;
  const std::string& reason_;
  std::vector<Remedy> remedies_;
};

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

void try_settings(Trial& trial, const SelectionQuestion& question) {
  trial.try_values("--kv-cache-dtype", cache_dtypes(),
                   [](SelectionQuestion& changed, const std::string& dtype) {
                     changed.config.kv_cache_dtype = dtype;
                   });
  if (question.config.block_size) {
    trial.try_change("no --block-size",
                     [](SelectionQuestion& changed) { changed.config.block_size.reset(); });
    trial.try_values("--block-size", numbers<std::int64_t>({16, 32, 64, 128, 256}),
                     [](SelectionQuestion& changed, std::int64_t block_size) {
                       changed.config.block_size = block_size;
                     });
  }
  const std::vector<std::pair<std::string, std::string>> dtypes = {
      {"float16", "float16"}, {"bfloat16", "bfloat16"}, {"float32", "float32"}};
  trial.try_values("--dtype", dtypes, [](SelectionQuestion& changed, const std::string& dtype) {
    changed.config.dtype = dtype;
  });
  trial.try_values("a GPU of", generations(),
                   [](SelectionQuestion& changed, DeviceCapability capability) {
                     changed.capability = capability;
                   });
}

void try_layers(Trial& trial, const SelectionQuestion& question) {
  trial.try_values("heads of",
                   numbers<std::int64_t>({32, 64, 80, 96, 128, 192, 256, 320, 512, 576}),
                   [](SelectionQuestion& changed, std::int64_t head_size) {
                     changed.config.head_size = head_size;
                   });
  for (const FlagName& name : kFlags) {
    if (!(question.config.*name.flag)) continue;
    trial.try_change(name.without,
                     [&](SelectionQuestion& changed) { changed.config.*name.flag = false; });
  }
  if (!question.config.use_mla) {
    trial.try_change("a latent layer",
                     [](SelectionQuestion& changed) { changed.config.use_mla = true; });
  }
  if (!question.config.use_sparse) {
    trial.try_change("a sparse layer",
                     [](SelectionQuestion& changed) { changed.config.use_sparse = true; });
  }
  if (question.config.attn_type != AttentionType::kDecoder) {
    trial.try_change("a decoder's attention", [](SelectionQuestion& changed) {
      changed.config.attn_type = AttentionType::kDecoder;
    });
  }
}

}  // namespace

std::vector<Remedy> remedies_for(const BackendFacts& facts,
                                 const SelectionQuestion& question,
                                 const std::string& reason) {
  Trial trial(facts, question, reason);
  try_settings(trial, question);
  try_layers(trial, question);
  return trial.take();
}

std::string to_string(const std::vector<Remedy>& remedies) {
  std::string text;
  for (const Remedy& remedy : remedies) {
    if (!text.empty()) text += "; ";
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
