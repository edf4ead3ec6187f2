#include "reference/replay/question_json.h"

#include <algorithm>
#include <array>
#include <utility>

#include "reference/contract/refuse.h"

namespace pagelab {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<const char*, AttentionType>, 4> kAttentionTypes = {
    {{"decoder", AttentionType::kDecoder},
     {"encoder", AttentionType::kEncoder},
     {"encoder_only", AttentionType::kEncoderOnly},
     {"encoder_decoder", AttentionType::kEncoderDecoder}}};

using Flag = std::pair<const char*, bool AttentionSelectorConfig::*>;
constexpr std::array<Flag, 5> kFlagsBeforeType = {
    {{"use_mla", &AttentionSelectorConfig::use_mla},
     {"has_sink", &AttentionSelectorConfig::has_sink},
     {"use_sparse", &AttentionSelectorConfig::use_sparse},
     {"use_mm_prefix", &AttentionSelectorConfig::use_mm_prefix},
     {"use_per_head_quant_scales", &AttentionSelectorConfig::use_per_head_quant_scales}}};
constexpr std::array<Flag, 8> kFlagsAfterType = {
    {{"has_sliding_window", &AttentionSelectorConfig::has_sliding_window},
     {"use_non_causal", &AttentionSelectorConfig::use_non_causal},
     {"use_batch_invariant", &AttentionSelectorConfig::use_batch_invariant},
     {"use_kv_connector", &AttentionSelectorConfig::use_kv_connector},
     {"use_pcp", &AttentionSelectorConfig::use_pcp},
     {"use_adaptive_verification", &AttentionSelectorConfig::use_adaptive_verification},
     {"use_dcp", &AttentionSelectorConfig::use_dcp},
     {"use_rswa", &AttentionSelectorConfig::use_rswa}}};

// A word of a fixed set, and what it stands for.
template <typename Value>
void read_word(const Json& env,
               const char* name,
               const std::vector<std::pair<std::string, Value>>& words,
               Value& value) {
  const std::optional<std::string> word = optional_field<std::string>(env, name);
  if (!word) return;
  std::string allowed;
  for (const auto& [known, meaning] : words) {
    if (*word == known) {
      value = meaning;
      return;
    }
    allowed += (allowed.empty() ? "" : ", ") + known;
  }
  refuse("env.{} is {}; it may be one of: {}.", name, *word, allowed);
}

void read_flag(const Json& env, const char* name, bool& flag) {
  flag = optional_field<bool>(env, name).value_or(flag);
}

ModelConfig model_from_json(const Json& fields) {
  refuse_unknown_fields(fields, "env.model",
                        {"head_size", "num_heads", "num_kv_heads", "hf", "is_diffusion"});
  ModelConfig model;
  model.head_size = fields.at("head_size").get<std::int64_t>();
  model.num_heads = fields.at("num_heads").get<std::int64_t>();
  model.num_kv_heads = fields.at("num_kv_heads").get<std::int64_t>();
  read_flag(fields, "is_diffusion", model.is_diffusion);
  const Json hf = fields.value("hf", Json::object());
  refuse_unknown_fields(hf, "env.model.hf",
                        {"qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "kv_lora_rank",
                         "index_topk", "attn_logit_softcapping"});
  model.qk_nope_head_dim = optional_field<std::int64_t>(hf, "qk_nope_head_dim");
  model.qk_rope_head_dim = optional_field<std::int64_t>(hf, "qk_rope_head_dim");
  model.v_head_dim = optional_field<std::int64_t>(hf, "v_head_dim");
  model.kv_lora_rank = optional_field<std::int64_t>(hf, "kv_lora_rank");
  model.index_topk = optional_field<std::int64_t>(hf, "index_topk");
  model.attn_logit_softcapping = optional_field<double>(hf, "attn_logit_softcapping");
  return model;
}

const std::vector<std::string>& record_fields() {
  static const std::vector<std::string> kFields = [] {
    std::vector<std::string> fields = {"head_size", "dtype", "kv_cache_dtype", "block_size",
                                       "attn_type"};
    for (const Flag& flag : kFlagsBeforeType) fields.emplace_back(flag.first);
    for (const Flag& flag : kFlagsAfterType) fields.emplace_back(flag.first);
    return fields;
  }();
  return kFields;
}

}  // namespace

void refuse_unknown_fields(const Json& object,
                           const std::string& where,
                           const std::vector<std::string>& known) {
  for (const auto& [name, value] : object.items()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string allowed;
    for (const std::string& field : known) allowed += (allowed.empty() ? "" : ", ") + field;
    refuse("{} has a field {}; it may have: {}.", where, name, allowed);
  }
}

AttentionType attention_type_of(const std::string& name) {
  for (const auto& [known, type] : kAttentionTypes) {
    if (name == known) return type;
  }
  refuse("attn_type is {}; it may be one of: decoder, encoder, encoder_only, encoder_decoder.",
         name);
}

DeviceCapability device_capability_of(const Json& pair) {
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_unsigned() ||
      !pair[1].is_number_unsigned()) {
    refuse("device_capability is {}; it is a pair [major, minor], like [9, 0].", pair.dump());
  }
  return {pair[0].get<int>(), pair[1].get<int>()};
}

AttentionSelectorConfig selector_config_from_json(const Json& fields) {
  refuse_unknown_fields(fields, "config", record_fields());
  AttentionSelectorConfig config;
  config.head_size = fields.at("head_size").get<std::int64_t>();
  config.dtype = fields.at("dtype").get<std::string>();
  config.kv_cache_dtype = optional_field<std::string>(fields, "kv_cache_dtype");
  config.block_size = optional_field<std::int64_t>(fields, "block_size");
  config.attn_type = attention_type_of(fields.value("attn_type", "decoder"));
  for (const Flag& flag : kFlagsBeforeType) read_flag(fields, flag.first, config.*flag.second);
  for (const Flag& flag : kFlagsAfterType) read_flag(fields, flag.first, config.*flag.second);
  return config;
}

Json to_json(const AttentionSelectorConfig& config) {
  Json fields;
  fields["head_size"] = config.head_size;
  fields["dtype"] = config.dtype;
  fields["kv_cache_dtype"] = config.kv_cache_dtype ? Json(*config.kv_cache_dtype) : Json(nullptr);
  fields["block_size"] = config.block_size ? Json(*config.block_size) : Json(nullptr);
  for (const Flag& flag : kFlagsBeforeType) fields[flag.first] = config.*flag.second;
  for (const auto& [name, type] : kAttentionTypes) {
    if (type == config.attn_type) fields["attn_type"] = name;
  }
  for (const Flag& flag : kFlagsAfterType) fields[flag.first] = config.*flag.second;
  return fields;
}

void read_environment(const Json& env, SelectionQuestion& question) {
  refuse_unknown_fields(
      env, "env",
      {"flash_attn_version", "fa_built", "use_trtllm_attention", "trtllm_available",
       "tokenspeed_mla", "b12x", "flashmla_built", "flashinfer_sm90_mla", "flashinfer_sm120_sparse",
       "mega_attn", "unavailable_kind", "model"});
  SelectionEnvironment& environment = question.environment;
  environment.flash_attn_version = optional_field<int>(env, "flash_attn_version");
  environment.flash_attn_builds =
      optional_field<std::vector<int>>(env, "fa_built").value_or(environment.flash_attn_builds);
  environment.use_trtllm_attention = optional_field<bool>(env, "use_trtllm_attention");
  read_flag(env, "trtllm_available", environment.trtllm_available);
  read_flag(env, "tokenspeed_mla", environment.tokenspeed_mla);
  read_flag(env, "flashinfer_sm90_mla", environment.flashinfer_sm90_mla);
  read_flag(env, "flashinfer_sm120_sparse", environment.flashinfer_sm120_sparse);
  read_word<B12xState>(env, "b12x",
                       {{"supported", B12xState::kSupported},
                        {"absent", B12xState::kAbsent},
                        {"unsupported", B12xState::kUnsupportedDevice}},
                       environment.b12x);
  read_word<FlashMlaState>(env, "flashmla_built",
                           {{"ok", FlashMlaState::kBuilt},
                            {"no_C", FlashMlaState::kNoKernels},
                            {"no_extension", FlashMlaState::kNoExtension}},
                           environment.flashmla);
  read_word<MegaAttnState>(env, "mega_attn",
                           {{"ok", MegaAttnState::kBuilt},
                            {"no_ops", MegaAttnState::kNoOps},
                            {"no_permute", MegaAttnState::kNoPermute}},
                           environment.mega_attn);
  read_word<std::string>(env, "unavailable_kind",
                         {{"ImportError", "ImportError"}, {"OSError", "OSError"}},
                         environment.unavailable_kind);
  if (const std::optional<Json> model = optional_field<Json>(env, "model")) {
    question.model = model_from_json(*model);
    // The model's own properties are those of the record.
    question.model->is_mm_prefix_lm = question.config.use_mm_prefix;
    question.model->has_rswa_window = question.config.use_rswa;
  }
}

}  // namespace pagelab
