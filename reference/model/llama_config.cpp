#include "reference/model/llama_config.h"

#include <fmt/format.h>

#include <cmath>

#include "reference/contract/error.h"
#include "reference/model/json_file.h"

namespace pagelab {
namespace {

using nlohmann::json;

/// The fields of one config.json; every complaint names the file and the field.
class ConfigFields {
 public:
  explicit ConfigFields(const std::filesystem::path& path)
      : path_(path), json_(read_json_file(path)) {
    if (!json_.is_object()) throw Error(fmt::format("{}: not a JSON object.", path_.string()));
  }

  [[noreturn]] void refuse(const std::string& field, const std::string& allowed) const {
    const std::string value = has(field) ? json_[field].dump() : "absent";
    throw Error(
        fmt::format("{}: {} is {}, but {}.", path_.string(), field, value.substr(0, 80), allowed));
  }

  /// Whether the field is there and not null.
  bool has(const std::string& field) const {
    return json_.contains(field) && !json_[field].is_null();
  }

  std::int64_t positive_integer(const std::string& field) const {
    constexpr std::int64_t kLargest = 1'000'000'000;
    const bool is_valid = has(field) && json_[field].is_number_unsigned() &&
                          json_[field].get<std::uint64_t>() >= 1 &&
                          json_[field].get<std::uint64_t>() <= kLargest;
    if (!is_valid) refuse(field, fmt::format("must be an integer from 1 to {}", kLargest));
    return json_[field].get<std::int64_t>();
  }
  std::int64_t positive_integer(const std::string& field, std::int64_t if_absent) const {
    return has(field) ? positive_integer(field) : if_absent;
  }

  double positive_number(const std::string& field) const {
    const bool is_valid = has(field) && json_[field].is_number() && json_[field].get<double>() > 0;
    if (!is_valid) refuse(field, "must be a number above 0");
    return json_[field].get<double>();
  }
  double positive_number(const std::string& field, double if_absent) const {
    return has(field) ? positive_number(field) : if_absent;
  }

  bool boolean(const std::string& field) const {
    if (!has(field)) return false;
    if (!json_[field].is_boolean()) refuse(field, "must be true or false");
    return json_[field].get<bool>();
  }

  void require_text(const std::string& field, const std::string& only) const {
    if (json_[field] != only) refuse(field, fmt::format("only \"{}\" is supported", only));
  }

  std::vector<std::int32_t> token_ids(const std::string& field, std::int64_t vocab_size) const {
    if (!has(field)) return {};
    const json list = json_[field].is_array() ? json_[field] : json::array({json_[field]});
    std::vector<std::int32_t> ids;
    for (const json& id : list) {
      const bool is_token = id.is_number_unsigned() &&
                            id.get<std::uint64_t>() < static_cast<std::uint64_t>(vocab_size);
      if (!is_token) refuse(field, fmt::format("token ids run from 0 to {}", vocab_size - 1));
      ids.push_back(id.get<std::int32_t>());
    }
    return ids;
  }

 private:
  std::filesystem::path path_;
  json json_;
};

/// Variations of the Llama that would change the text and are not implemented.
void refuse_variations(const ConfigFields& fields) {
  if (!fields.has("model_type")) fields.refuse("model_type", "only \"llama\" is supported");
  fields.require_text("model_type", "llama");
  if (fields.has("hidden_act")) fields.require_text("hidden_act", "silu");
  const std::string null_only = "only null is supported";
  for (const char* field : {"rope_scaling", "rope_parameters", "quantization_config"}) {
    if (fields.has(field)) fields.refuse(field, null_only);
  }
  for (const char* field : {"attention_bias", "mlp_bias"}) {
    if (fields.boolean(field)) fields.refuse(field, "only false is supported");
  }
  if (fields.positive_number("partial_rotary_factor", 1.0) != 1.0) {
    fields.refuse("partial_rotary_factor", "only 1 is supported");
  }
}

void check_sizes(const ConfigFields& fields, const LlamaConfig& config) {
  if (config.vocab_size < 2) fields.refuse("vocab_size", "must be 2 at least");
  if (config.num_attention_heads % config.num_key_value_heads != 0) {
    fields.refuse(
        "num_attention_heads",
        fmt::format("must be a multiple of num_key_value_heads, {}", config.num_key_value_heads));
  }
  if (config.head_dim % 2 != 0) {
    fields.refuse("head_dim", "must be even: RoPE turns pairs of elements");
  }
}

}  // namespace

LlamaConfig read_llama_config(const std::filesystem::path& path) {
  const ConfigFields fields(path);
  refuse_variations(fields);

  LlamaConfig config;
  config.vocab_size = fields.positive_integer("vocab_size");
  config.hidden_size = fields.positive_integer("hidden_size");
  config.intermediate_size = fields.positive_integer("intermediate_size");
  config.num_hidden_layers = fields.positive_integer("num_hidden_layers");
  config.num_attention_heads = fields.positive_integer("num_attention_heads");
  config.num_key_value_heads =
      fields.positive_integer("num_key_value_heads", config.num_attention_heads);
  if (!fields.has("head_dim") && config.hidden_size % config.num_attention_heads != 0) {
    fields.refuse("hidden_size", fmt::format("without head_dim it must be a multiple of "
                                             "num_attention_heads, {}",
                                             config.num_attention_heads));
  }
  config.head_dim =
      fields.positive_integer("head_dim", config.hidden_size / config.num_attention_heads);
  config.max_position_embeddings = fields.positive_integer("max_position_embeddings");
  config.rope_theta = fields.positive_number("rope_theta", 10000.0);
  config.rms_norm_eps = fields.positive_number("rms_norm_eps");
  config.tie_word_embeddings = fields.boolean("tie_word_embeddings");
  config.eos_token_ids = fields.token_ids("eos_token_id", config.vocab_size);
  check_sizes(fields, config);
  return config;
}

std::string to_string(const LlamaConfig& config) {
  return fmt::format(
      "{} layers, hidden size {}, {} query heads on {} KV heads of size {}, {} tokens of "
      "vocabulary, {} positions",
      config.num_hidden_layers, config.hidden_size, config.num_attention_heads,
      config.num_key_value_heads, config.head_dim, config.vocab_size,
      config.max_position_embeddings);
}

}  // namespace pagelab
