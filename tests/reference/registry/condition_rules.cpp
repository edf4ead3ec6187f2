#include "tests/reference/registry/condition_rules.h"

#include <algorithm>

#include "reference/registry/flash_attn_version.h"
#include "reference/registry/kv_cache_dtypes.h"
#include "reference/registry/python_text.h"

namespace pagelab::test {
namespace {

template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json model_attribute(const SelectionQuestion& question, std::string name) {
  Json fallback;
  if (const std::size_t bar = name.find('|'); bar != std::string::npos) {
    fallback = std::stol(name.substr(bar + 1));
    name = name.substr(0, bar);
  }
  const ModelConfig model = question.model.value_or(ModelConfig());
  Json value;
  if (name == "qk_nope_head_dim") value = or_null(model.qk_nope_head_dim);
  if (name == "qk_rope_head_dim") value = or_null(model.qk_rope_head_dim);
  if (name == "v_head_dim") value = or_null(model.v_head_dim);
  if (name == "kv_lora_rank") value = or_null(model.kv_lora_rank);
  if (name == "index_topk") value = or_null(model.index_topk);
  return value.is_null() ? fallback : value;
}

Json environment_value(const SelectionEnvironment& environment, const std::string& name) {
  static const std::vector<std::string> kB12x = {"supported", "absent", "unsupported"};
  static const std::vector<std::string> kFlashMla = {"ok", "no_C", "no_extension"};
  static const std::vector<std::string> kMegaAttn = {"ok", "no_ops", "no_permute"};
  if (name == "b12x") return kB12x[static_cast<std::size_t>(environment.b12x)];
  if (name == "flashmla_built") return kFlashMla[static_cast<std::size_t>(environment.flashmla)];
  if (name == "mega_attn") return kMegaAttn[static_cast<std::size_t>(environment.mega_attn)];
  if (name == "tokenspeed_mla") return environment.tokenspeed_mla;
  if (name == "flashinfer_sm90_mla") return environment.flashinfer_sm90_mla;
  return environment.flashinfer_sm120_sparse;
}

Json field_value(const SelectionQuestion& question, const std::string& name) {
  const AttentionSelectorConfig& config = question.config;
  if (name == "cap") return Json::array({question.capability.major, question.capability.minor});
  if (name == "cap.major") return question.capability.major;
  if (name == "cap.minor") return question.capability.minor;
  if (name == "model") return question.model ? Json("present") : Json(nullptr);
  if (name == "quantised(kv_cache_dtype)") return is_quantized_kv_cache(config.kv_cache_dtype);
  if (name == "head_size") return config.head_size;
  if (name == "dtype") return config.dtype;
  if (name == "kv_cache_dtype") return or_null(config.kv_cache_dtype);
  if (name == "block_size") return or_null(config.block_size);
  if (name == "has_sink") return config.has_sink;
  if (name == "use_sparse") return config.use_sparse;
  if (name == "use_mm_prefix") return config.use_mm_prefix;
  if (name == "use_non_causal") return config.use_non_causal;
  if (name == "use_pcp") return config.use_pcp;
  if (name == "use_dcp") return config.use_dcp;
  if (name == "platform.is_rdna") return question.environment.rocm.is_rdna;
  if (name == "platform.gfx12") return question.environment.rocm.gfx12;
  if (name.starts_with("hf.")) return model_attribute(question, name.substr(3));
  if (name.starts_with("env.")) return environment_value(question.environment, name.substr(4));
  throw std::runtime_error("no field " + name);
}

Json derived_value(const SelectionQuestion& question, const Json& call) {
  const Json& args = call.at("args");
  const auto argument = [&](const char* name) -> Json {
    if (!args.contains(name)) return nullptr;
    const Json& value = args.at(name);
    const bool is_field = value.is_string() && value.get<std::string>().starts_with("$");
    return is_field ? field_value(question, value.get<std::string>().substr(1)) : value;
  };
  const auto number = [&](const char* name) {
    const Json value = argument(name);
    return value.is_null() ? std::nullopt : std::optional(value.get<std::int64_t>());
  };
  FlashAttnLayer layer;
  layer.head_size = number("head_size");
  layer.head_size_v = number("head_size_v");
  layer.has_sinks = argument("has_sinks") == true;
  layer.kv_cache_block_size = number("kv_cache_block_size");
  layer.supports_fa4_hd256 = argument("supports_fa4_hd256") == true;
  const std::string name = call.at("call");
  if (name == "fa_version") return or_null(flash_attn_version(question, layer));
  if (name == "fa_kv_ok") return flash_attn_reads_quantized_cache(question, layer);
  if (name == "fa_mla") return flash_attn_supports_mla(question);
  throw std::runtime_error("no derived rule " + name);
}

bool holds(const Json& condition, const SelectionQuestion& question);

Json left_side(const Json& side, const SelectionQuestion& question) {
  if (side.is_string()) return field_value(question, side);
  if (side.contains("call")) return derived_value(question, side);
  const Json& alternatives = side.at("any_of");
  return std::any_of(alternatives.begin(), alternatives.end(),
                     [&](const Json& alternative) { return holds(alternative, question); });
}

bool holds(const Json& condition, const SelectionQuestion& question) {
  const Json left = left_side(condition.at(0), question);
  const std::string relation = condition.at(1);
  const Json& right = condition.at(2);
  if (relation == "==") return left == right;
  if (relation == "!=") return left != right;
  if (relation == "<") return left < right;
  if (relation == "is_null") return left.is_null() == right.get<bool>();
  if (relation == "starts_with") {
    return left.is_string() && left.get<std::string>().starts_with(right.get<std::string>());
  }
  const bool is_in = std::find(right.begin(), right.end(), left) != right.end();
  return relation == "in" ? is_in : !is_in;
}

std::string filled(const std::string& reason, const SelectionQuestion& question) {
  std::string text;
  std::size_t position = 0;
  while (true) {
    const std::size_t open = reason.find('{', position);
    if (open == std::string::npos) return text + reason.substr(position);
    const std::size_t close = reason.find('}', open);
    const Json value = field_value(question, reason.substr(open + 1, close - open - 1));
    text += reason.substr(position, open - position);
    text += value.is_null() ? "None" : value.is_string() ? value.get<std::string>() : value.dump();
    position = close + 1;
  }
}

}  // namespace

std::optional<std::string> reason_by_rules(const Json& rules,
                                           const SelectionQuestion& question,
                                           std::size_t& fired) {
  for (std::size_t rule_idx = 0; rule_idx < rules.size(); ++rule_idx) {
    const Json& when = rules[rule_idx].at("when");
    const bool all = std::all_of(when.begin(), when.end(),
                                 [&](const Json& condition) { return holds(condition, question); });
    if (!all) continue;
    fired = rule_idx;
    return filled(rules[rule_idx].at("reason"), question);
  }
  return std::nullopt;
}

}  // namespace pagelab::test
