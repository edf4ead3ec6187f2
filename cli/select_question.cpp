#include "cli/select_question.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cli/option_values.h"
#include "reference/contract/refuse.h"
#include "reference/contract/suggestion.h"
#include "reference/registry/gpu_names.h"
#include "reference/registry/kv_cache_dtypes.h"
#include "reference/registry/model_shapes.h"
#include "reference/registry/raised_error.h"
#include "reference/registry/selector.h"

namespace pagelab::cli {
namespace {

constexpr std::int64_t kLargestNumber = 1 << 20;  // past every head, block and head count there is

struct FlagOption {
  const char* name;
  bool AttentionSelectorConfig::*flag;
  const char* meaning;
  bool is_of_model = false;  // what the layer is, not how it is run
};

constexpr std::array<FlagOption, 13> kFlagOptions = {
    {{"--use-mla", &AttentionSelectorConfig::use_mla, "a latent layer (MLA)", true},
     {"--has-sink", &AttentionSelectorConfig::has_sink, "attention sinks", true},
     {"--use-sparse", &AttentionSelectorConfig::use_sparse, "an indexer chooses the keys", true},
     {"--use-mm-prefix", &AttentionSelectorConfig::use_mm_prefix,
      "multimodal tokens attend in both directions", true},
     {"--use-per-head-quant-scales", &AttentionSelectorConfig::use_per_head_quant_scales,
      "a quantisation scale for every head"},
     {"--has-sliding-window", &AttentionSelectorConfig::has_sliding_window, "a sliding window",
      true},
     {"--use-non-causal", &AttentionSelectorConfig::use_non_causal, "no causal mask"},
     {"--use-batch-invariant", &AttentionSelectorConfig::use_batch_invariant,
      "the same bits in every batch"},
     {"--use-kv-connector", &AttentionSelectorConfig::use_kv_connector,
      "blocks are sent or fetched"},
     {"--use-pcp", &AttentionSelectorConfig::use_pcp, "prefill context parallelism"},
     {"--use-adaptive-verification", &AttentionSelectorConfig::use_adaptive_verification,
      "query lengths on the device differ from the CPU's"},
     {"--use-dcp", &AttentionSelectorConfig::use_dcp, "decode context parallelism"},
     {"--use-rswa", &AttentionSelectorConfig::use_rswa, "a window that keeps the prompt visible"}}};

const std::vector<std::pair<std::string, AttentionType>>& attention_types() {
  static const std::vector<std::pair<std::string, AttentionType>> kTypes = {
      {"decoder", AttentionType::kDecoder},
      {"encoder", AttentionType::kEncoder},
      {"encoder_only", AttentionType::kEncoderOnly},
      {"encoder_decoder", AttentionType::kEncoderDecoder}};
  return kTypes;
}

// The value if it is one of the names; a refusal with the nearest one if not.
const std::string& one_of(const std::string& option,
                          const std::string& value,
                          const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), value) != names.end()) return value;
  refuse("{} is {}{}; it may be one of {}.", option, value, did_you_mean(value, names),
         fmt::join(names, ", "));
}

std::vector<std::string> cache_dtypes() {
  return {kv_cache_dtype_names().begin(), kv_cache_dtype_names().end()};
}

AttentionType attention_type(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [known, type] : attention_types()) names.push_back(known);
  one_of("--attn-type", name, names);
  return attention_types()[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) -
                                                    names.begin())]
      .second;
}

void check_number(const char* option, const std::optional<std::int64_t>& number) {
  if (!number || (*number >= 1 && *number <= kLargestNumber)) return;
  refuse("{} is {}; it may be 1 to {}.", option, *number, kLargestNumber);
}

// vLLM has four platforms. For AMD's and Intel's, its lists depend on probes of their libraries.
void check_platform(const SelectOptions& options) {
  if (options.platform == "rocm" || options.platform == "xpu") {
    refuse(
        "--platform {}: pagelab answers for cuda and cpu; ROCm's and XPU's backends are rows of "
        "`pagelab backends`, but who chooses among them is not modelled.",
        options.platform);
  }
  one_of("--platform", options.platform, {"cuda", "cpu"});
  const bool is_cpu = options.platform == "cpu";
  if (is_cpu && !options.gpu.empty()) {
    refuse("--platform cpu has no GPU, so --gpu {} would have no effect: leave one of them out.",
           options.gpu);
  }
  if (!is_cpu && options.gpu.empty()) {
    refuse("select needs a GPU: give --gpu NAME, like h100, or 9.0.");
  }
  if (!is_cpu && options.has_amx_tiles) {
    refuse("--amx says what a CPU has, so it needs --platform cpu.");
  }
}

void check_whose_shape(const SelectOptions& options) {
  if (options.model.empty() && !options.head_size) {
    refuse("select needs a layer: give --model NAME, or --head-size N with what else there is.");
  }
  if (!options.model.empty() && (options.head_size || options.num_heads)) {
    refuse(
        "--model {} brings its head size and heads along: leave --head-size and --num-heads out.",
        options.model);
  }
  for (const FlagOption& option : kFlagOptions) {
    if (options.model.empty() || !option.is_of_model || !(options.flags.*option.flag)) continue;
    refuse(
        "--model {} says itself what its layers are: leave {} out, or describe a layer of your own "
        "with --head-size.",
        options.model, option.name);
  }
  if (options.num_heads && !options.flags.use_mla) {
    refuse("--num-heads {} counts for latent layers alone: add --use-mla, or leave it out.",
           *options.num_heads);
  }
  check_platform(options);
  check_number("--head-size", options.head_size);
  check_number("--num-heads", options.num_heads);
  check_number("--block-size", options.block_size);
}

std::vector<SelectionQuestion> layers_of(const SelectOptions& options) {
  if (!options.model.empty()) return questions_of_layers(find_model_shape(options.model));
  SelectionQuestion question;
  question.config.head_size = *options.head_size;
  question.num_heads = options.num_heads;
  return {question};
}

}  // namespace

void add_select_options(CLI::App& command, SelectOptions& options) {
  command.add_option("--model", options.model, "a model of the table, instead of --head-size")
      ->check(not_empty());
  command
      .add_option("--head-size", options.head_size, "elements of a head, as the cache stores it")
      ->check(whole_number());
  command.add_option("--num-heads", options.num_heads, "query heads of a latent layer")
      ->check(whole_number());
  command.add_option("--gpu", options.gpu, "h100, b200, l4, ...; or a capability like 9.0")
      ->check(not_empty());
  command.add_option("--platform", options.platform, "cuda, or cpu without --gpu")
      ->capture_default_str()
      ->check(not_empty());
  command.add_flag("--amx", options.has_amx_tiles, "the CPU has matrix units");
  command.add_option("--dtype", options.dtype, "of the activations")->capture_default_str();
  command.add_option("--kv-cache-dtype", options.kv_cache_dtype, "of the cache")
      ->capture_default_str();
  command.add_option("--block-size", options.block_size, "tokens of a KV block; left out: open")
      ->check(whole_number());
  command.add_option("--attn-type", options.attn_type, "whose keys")->capture_default_str();
  command.add_option("--attention-backend", options.attention_backend, "force this one")
      ->check(not_empty());
  command
      .add_option("--attention-config.backend", options.attention_config_backend,
                  "the same, as a field of the attention config")
      ->check(not_empty());
  command.add_option("--without", options.without, "backends whose package is not installed");
  for (const FlagOption& option : kFlagOptions) {
    command.add_flag(option.name, options.flags.*option.flag, option.meaning);
  }
  command.add_flag("--explain", options.explain, "every candidate, reason, and what would help");
  command.add_flag("--json", options.json, "one JSON document");
}

std::vector<SelectionQuestion> questions_of(const SelectOptions& options,
                                            const BackendRegistry& registry) {
  check_whose_shape(options);
  const DeviceCapability capability =
      options.gpu.empty() ? DeviceCapability() : capability_of_gpu(options.gpu);
  for (const std::string& name : options.without) one_of("--without", name, registry.names());
  std::vector<SelectionQuestion> questions = layers_of(options);
  for (SelectionQuestion& question : questions) {
    question.capability = capability;
    question.environment.unavailable = options.without;
    AttentionSelectorConfig& config = question.config;
    config.dtype = one_of("--dtype", options.dtype, {"float16", "bfloat16", "float32"});
    config.kv_cache_dtype = one_of("--kv-cache-dtype", options.kv_cache_dtype, cache_dtypes());
    config.block_size = options.block_size;
    config.attn_type = attention_type(options.attn_type);
    for (const FlagOption& option : kFlagOptions) {
      config.*option.flag = config.*option.flag || options.flags.*option.flag;
    }
    if (question.model) question.model->has_rswa_window = config.use_rswa;
    if (question.model) question.model->is_mm_prefix_lm = config.use_mm_prefix;
  }
  return questions;
}

std::optional<std::string> forced_backend_of(const SelectOptions& options,
                                             const BackendRegistry& registry) {
  if (!options.attention_backend.empty() && !options.attention_config_backend.empty()) {
    refuse(
        "--attention-backend {} and --attention-config.backend {} say the same thing twice: "
        "give one of them.",
        options.attention_backend, options.attention_config_backend);
  }
  const std::string& name = options.attention_backend.empty() ? options.attention_config_backend
                                                              : options.attention_backend;
  if (name.empty()) return std::nullopt;
  try {
    return parse_attention_config(name, {}, registry).backend;
  } catch (const RaisedError& error) {
    const std::string sentence = error.what();
    refuse("{}{}: {}.", name, did_you_mean(name, registry.names()), sentence);
  }
}

}  // namespace pagelab::cli
