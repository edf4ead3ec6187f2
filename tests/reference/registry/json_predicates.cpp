#include "tests/reference/registry/json_predicates.h"

#include <algorithm>

#include "reference/contract/error.h"
#include "tests/reference/registry/condition_rules.h"

namespace pagelab::test {
namespace {

const Json& facts_named(const std::string& name) {
  for (const Json& facts : facts_of_vllm().at("backends")) {
    if (facts.at("name") == name) return facts;
  }
  throw Error("backends.json has no " + name);
}

// One check after the other; a feature that is not asked for is not checked.
class ReasonsByFacts {
 public:
  ReasonsByFacts(const Json& facts, std::string capability)
      : facts_(facts), capability_(std::move(capability)) {}

  void add_unless(bool accepted, const std::string& what) {
    if (!accepted) reasons_.push_back(what + " not supported");
  }
  void add_if_asked(bool asked, const char* flag, const std::string& what) {
    add_text_if_asked(asked, flag, what + " not supported");
  }
  void add_text_if_asked(bool asked, const char* flag, const std::string& reason) {
    if (asked && !has(flag)) reasons_.push_back(reason);
  }
  void add_on_mismatch(bool asked, const char* flag, const std::string& what) {
    if (asked != has(flag)) reasons_.push_back((asked ? "" : "non-") + what + " not supported");
  }
  std::vector<std::string> take() { return std::move(reasons_); }

 private:
  bool has(const char* flag) const { return flag_at(facts_.at(flag), capability_); }

  const Json& facts_;
  std::string capability_;
  std::vector<std::string> reasons_;
};

std::string attention_type_name(AttentionType type) {
  static const std::vector<std::string> kNames = {"decoder", "encoder", "encoder_only",
                                                  "encoder_decoder"};
  return kNames[static_cast<std::size_t>(type)];
}

bool is_listed(const Json& list, const std::string& name) {
  return std::count(list.begin(), list.end(), name) > 0;
}

bool block_size_fits(const Json& facts, const SelectionQuestion& question) {
  const Json& kernel_blocks = kernel_blocks_at(facts, question.capability);
  if (kernel_blocks.empty() || !question.config.block_size) return !kernel_blocks.empty();
  return block_size_accepted(facts, kernel_blocks, *question.config.block_size);
}

}  // namespace

bool head_size_accepted(const Json& facts, std::int64_t head_size, DeviceCapability capability) {
  const Json& sizes = facts.at("head_sizes");
  if (sizes.contains("and_children")) {
    for (const std::string child : facts.at("children")) {
      if (!head_size_accepted(facts_named(child), head_size, capability)) return false;
    }
  }
  if (sizes.contains("list")) {
    const std::vector<std::int64_t> list = sizes.at("list");
    return std::count(list.begin(), list.end(), head_size) > 0;
  }
  const bool has_fa4 = capability.major >= 9 && capability.major <= 11;
  std::int64_t most = sizes.value("max", kLargestSize);
  if (has_fa4) most = sizes.value("max_if_fa4_supported", most);
  return head_size >= sizes.value("min", 0) && head_size <= most &&
         head_size % sizes.value("multiple_of", 1) == 0;
}

const Json& kernel_blocks_at(const Json& facts, DeviceCapability capability) {
  const Json& sizes = facts.at("kernel_block_sizes");
  const std::string major = std::to_string(capability.major);
  if (sizes.contains("cap_major") && sizes.at("cap_major").contains(major)) {
    return sizes.at("cap_major").at(major);
  }
  return sizes.at("default");
}

KernelBlockSizes kernel_blocks_of(const Json& list) {
  KernelBlockSizes sizes;
  for (const Json& size : list) {
    sizes.push_back(size.is_object() ? multiple_of(size.at("multiple_of").get<std::int64_t>())
                                     : fixed(size.get<std::int64_t>()));
  }
  return sizes;
}

bool block_size_accepted(const Json& facts, const Json& kernel_blocks, std::int64_t block_size) {
  const bool exact = facts.at("block_size_rule").get<std::string>().starts_with("exact");
  for (const KernelBlockSize& kernel_block : kernel_blocks_of(kernel_blocks)) {
    if (exact ? block_size == kernel_block.size : block_size % kernel_block.size == 0) return true;
  }
  return false;
}

bool capability_accepted(const Json& facts, DeviceCapability capability) {
  const Json& rule = facts.at("capability");
  const auto pair = [](const Json& numbers) {
    return DeviceCapability{numbers.at(0).get<int>(), numbers.at(1).get<int>()};
  };
  if (rule.contains("never_off_rocm")) return false;
  if (rule.contains("equals")) return capability == pair(rule.at("equals"));
  if (rule.contains("one_of")) {
    return std::any_of(rule.at("one_of").begin(), rule.at("one_of").end(),
                       [&](const Json& numbers) { return capability == pair(numbers); });
  }
  if (rule.contains("major_in")) {
    const std::vector<int> majors = rule.at("major_in");
    return std::count(majors.begin(), majors.end(), capability.major) > 0;
  }
  return (!rule.contains("min") || capability >= pair(rule.at("min"))) &&
         (!rule.contains("max") || capability <= pair(rule.at("max")));
}

bool flag_at(const Json& flag, const std::string& capability) {
  return flag.is_boolean() ? flag.get<bool>() : flag.at("by_capability").at(capability).get<bool>();
}

bool kv_cache_dtype_accepted(const Json& facts, const Json& name, const std::string& capability) {
  const Json& kv = facts.at("kv_cache_dtypes");
  Json accepted = kv.at("list");
  if (kv.at("null_ok")) accepted.push_back(nullptr);
  if (kv.contains("effective")) accepted = kv.at("effective");
  if (kv.contains("by_capability")) accepted = kv.at("by_capability").at(capability);
  return std::count(accepted.begin(), accepted.end(), name) > 0;
}

std::vector<std::string> reasons_by_facts(const Json& facts, const SelectionQuestion& question) {
  const AttentionSelectorConfig& config = question.config;
  const std::string capability =
      std::to_string(question.capability.major) + "." + std::to_string(question.capability.minor);
  const Json kv_cache_dtype = config.kv_cache_dtype ? Json(*config.kv_cache_dtype) : Json(nullptr);
  ReasonsByFacts reasons(facts, capability);
  reasons.add_unless(head_size_accepted(facts, config.head_size, question.capability), "head_size");
  reasons.add_unless(is_listed(facts.at("dtypes"), config.dtype), "dtype");
  reasons.add_unless(kv_cache_dtype_accepted(facts, kv_cache_dtype, capability), "kv_cache_dtype");
  reasons.add_unless(block_size_fits(facts, question), "block_size");
  reasons.add_if_asked(config.use_mm_prefix, "supports_mm_prefix",
                       "partial multimodal token full attention");
  reasons.add_on_mismatch(config.use_mla, "is_mla", "MLA");
  reasons.add_if_asked(config.has_sink, "supports_sink", "attention sinks");
  reasons.add_on_mismatch(config.use_sparse, "is_sparse", "sparse");
  reasons.add_if_asked(config.use_per_head_quant_scales, "supports_per_head_quant_scales",
                       "per-head quant scales");
  reasons.add_unless(capability_accepted(facts, question.capability), "compute capability");
  reasons.add_unless(is_listed(facts.at("attn_types"), attention_type_name(config.attn_type)),
                     "attention type " + to_string(config.attn_type));
  reasons.add_if_asked(config.has_sliding_window, "supports_sliding_window", "sliding window");
  reasons.add_if_asked(config.use_rswa, "supports_rswa", "R-SWA");
  reasons.add_if_asked(config.use_non_causal, "supports_non_causal", "non-causal attention");
  reasons.add_if_asked(config.use_mla && config.use_non_causal && config.use_dcp,
                       "supports_non_causal_dcp", "non-causal MLA attention with DCP");
  reasons.add_if_asked(config.use_batch_invariant, "supports_batch_invariance", "batch invariance");
  reasons.add_if_asked(config.use_kv_connector, "supports_kv_connector", "KV connector");
  reasons.add_if_asked(config.use_pcp, "supports_pcp", "PCP");
  reasons.add_if_asked(config.use_dcp, "supports_dcp", "DCP");
  reasons.add_text_if_asked(config.use_adaptive_verification,
                            "supports_device_cpu_query_lens_mismatch",
                            "device-cpu query lens mismatch not supported, this is needed for "
                            "adaptive verification");
  std::vector<std::string> all = reasons.take();
  for (const std::string& reason : combination_reasons_by_facts(facts, question)) {
    all.push_back(reason);
  }
  return all;
}

std::vector<std::string> combination_reasons_by_facts(const Json& facts,
                                                      const SelectionQuestion& question) {
  std::vector<std::string> reasons;
  for (const Json& rules :
       {facts.at("combinations"), facts.value("appended_after_all", Json::array())}) {
    std::size_t fired = 0;
    if (auto reason = reason_by_rules(rules, question, fired)) reasons.push_back(*reason);
  }
  return reasons;
}

}  // namespace pagelab::test
