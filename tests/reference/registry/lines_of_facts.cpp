#include "tests/reference/registry/lines_of_facts.h"

#include <algorithm>
#include <array>

#include "reference/registry/kv_cache_dtypes.h"
#include "reference/registry/python_text.h"
#include "reference/registry/random_question.h"
#include "reference/replay/question_json.h"
#include "tests/reference/registry/flags_of_rows.h"
#include "tests/reference/registry/json_predicates.h"

namespace pagelab::test {
namespace {

constexpr std::array<bool AttentionSelectorConfig::*, 13> kFeatures = {
    &AttentionSelectorConfig::use_mla,
    &AttentionSelectorConfig::has_sink,
    &AttentionSelectorConfig::use_sparse,
    &AttentionSelectorConfig::use_mm_prefix,
    &AttentionSelectorConfig::use_per_head_quant_scales,
    &AttentionSelectorConfig::has_sliding_window,
    &AttentionSelectorConfig::use_non_causal,
    &AttentionSelectorConfig::use_batch_invariant,
    &AttentionSelectorConfig::use_kv_connector,
    &AttentionSelectorConfig::use_pcp,
    &AttentionSelectorConfig::use_adaptive_verification,
    &AttentionSelectorConfig::use_dcp,
    &AttentionSelectorConfig::use_rswa};

// Every size that some list holds, and their neighbours.
constexpr std::array<std::int64_t, 47> kSizes = {
    1,   7,   8,   9,   15,  16,  17,  24,  31,  32,  33,  40,  48,  63,  64,  65,
    72,  80,  96,  112, 120, 128, 144, 160, 176, 192, 208, 224, 240, 255, 256, 257,
    264, 272, 288, 320, 384, 448, 504, 512, 513, 520, 544, 576, 640, 784, 1024};

// One field at a time takes each of its values; the others are what the backend takes, as far as one can say.
std::vector<SelectionQuestion> one_field_changed(const SelectionQuestion& accepted) {
  std::vector<SelectionQuestion> questions = {accepted};
  const auto changed = [&]() -> AttentionSelectorConfig& {
    return questions.emplace_back(accepted).config;
  };
  for (const char* dtype : {"float16", "bfloat16", "float32"}) changed().dtype = dtype;
  changed().kv_cache_dtype.reset();
  for (const std::string_view dtype : kv_cache_dtype_names()) {
    changed().kv_cache_dtype = std::string(dtype);
  }
  for (const std::int64_t size : kSizes) {
    changed().head_size = size;
    changed().block_size = size;
  }
  for (const AttentionType type : {AttentionType::kDecoder, AttentionType::kEncoder,
                                   AttentionType::kEncoderOnly, AttentionType::kEncoderDecoder}) {
    changed().attn_type = type;
  }
  for (bool AttentionSelectorConfig::*feature : kFeatures) {
    AttentionSelectorConfig& config = changed();
    config.*feature = !(config.*feature);
  }
  AttentionSelectorConfig& both = changed();
  both.use_mla = both.use_non_causal = both.use_dcp = true;
  return questions;
}

// Whether some fact follows from a rule. backends.json has its value for each GPU and an ordinary record alone.
bool depends_on_the_record(const Json& facts) {
  return facts.at("kv_cache_dtypes").contains("by_capability") ||
         std::any_of(kFlagsOfRows.begin(), kFlagsOfRows.end(),
                     [&](const NamedFlag& flag) { return !facts.at(flag.name).is_boolean(); });
}

nlohmann::ordered_json model_as_json(const ModelConfig& model) {
  nlohmann::ordered_json fields = {{"head_size", model.head_size},
                                   {"num_heads", model.num_heads},
                                   {"num_kv_heads", model.num_kv_heads}};
  if (model.is_diffusion) fields["is_diffusion"] = true;
  nlohmann::ordered_json hf = nlohmann::ordered_json::object();
  const auto add = [&hf](const char* name, const auto& value) {
    if (value) hf[name] = *value;
  };
  add("qk_nope_head_dim", model.qk_nope_head_dim);
  add("qk_rope_head_dim", model.qk_rope_head_dim);
  add("v_head_dim", model.v_head_dim);
  add("kv_lora_rank", model.kv_lora_rank);
  add("index_topk", model.index_topk);
  add("attn_logit_softcapping", model.attn_logit_softcapping);
  fields["hf"] = hf;
  return fields;
}

nlohmann::ordered_json without_defaults(const AttentionSelectorConfig& config) {
  const nlohmann::ordered_json defaults = to_json(AttentionSelectorConfig());
  nlohmann::ordered_json fields = to_json(config);
  for (const auto& [name, value] : defaults.items()) {
    if (name != "head_size" && name != "dtype" && fields.at(name) == value) fields.erase(name);
  }
  return fields;
}

}  // namespace

std::vector<LineOfFacts> systematic_lines(const Json& facts) {
  SelectionQuestion accepted;
  accepted.config.head_size = 128;
  accepted.config.dtype = facts.at("dtypes").at(0);
  accepted.config.kv_cache_dtype = facts.at("kv_cache_dtypes").at("list").at(0).get<std::string>();
  accepted.config.use_mla = flag_at(facts.at("is_mla"), "9.0");
  accepted.config.use_sparse = flag_at(facts.at("is_sparse"), "9.0");
  std::vector<LineOfFacts> lines;
  for (const SelectionQuestion& question : one_field_changed(accepted)) {
    for (const std::string& capability : swept_capabilities()) {
      LineOfFacts line{question, {}};
      line.question.capability = question_at(capability).capability;
      line.reasons = reasons_by_facts(facts, line.question);
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

std::vector<LineOfFacts> random_lines(const Json& facts) {
  constexpr int kNumQuestions = 3000;
  if (depends_on_the_record(facts)) return {};
  const std::vector<std::string> capabilities = swept_capabilities();
  RandomQuestions questions(20261130);
  std::vector<LineOfFacts> lines;
  for (int question_idx = 0; question_idx < kNumQuestions; ++question_idx) {
    LineOfFacts line{questions.next(), {}};
    line.question.environment = {};
    line.question.capability = question_at(questions.one_of(capabilities)).capability;
    line.reasons = reasons_by_facts(facts, line.question);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string golden_text(const LineOfFacts& line, const std::string& id, const std::string& member) {
  const DeviceCapability capability = line.question.capability;
  nlohmann::ordered_json json = {{"id", id},
                                 {"device_capability", {capability.major, capability.minor}}};
  if (line.question.num_heads) json["num_heads"] = *line.question.num_heads;
  json["config"] = without_defaults(line.question.config);
  json["forced"] = member;
  if (line.question.model) json["env"] = {{"model", model_as_json(*line.question.model)}};
  nlohmann::ordered_json& expect = json["expect"];
  expect = {{"selected", nullptr}, {"valid", nlohmann::ordered_json::array()}};
  expect["invalid"] = nlohmann::ordered_json::object();
  expect["error"] = expect["info"] = nullptr;
  if (line.reasons.empty()) {
    expect["selected"] = member;
    expect["valid"] = {member};
    expect["info"] = "Using AttentionBackendEnum." + member + " backend.";
  } else {
    expect["invalid"][member] = line.reasons;
    expect["error"] = "Selected backend AttentionBackendEnum." + member +
                      " is not valid for this configuration. Reason: " + python_list(line.reasons);
  }
  return json.dump();
}

}  // namespace pagelab::test
