// Golden table `selector`: one level above selection. Each line says `what` it asks.

#include "reference/contract/refuse.h"
#include "reference/registry/other_selections.h"
#include "reference/registry/raised_error.h"
#include "reference/registry/selector.h"
#include "reference/replay/question_json.h"
#include "reference/replay/replayed_registry.h"

namespace pagelab {
namespace {

using Json = nlohmann::ordered_json;

BackendPerKind per_kind_of(const Json& fields) {
  BackendPerKind backend_per_kind;
  for (const auto& [kind, backend] : fields.items()) {
    backend_per_kind.emplace_back(kind, backend.get<std::string>());
  }
  return backend_per_kind;
}

LayerCall call_of(const Json& fields) {
  refuse_unknown_fields(
      fields, "call",
      {"head_size", "dtype", "kv_cache_dtype", "use_mla", "has_sink", "use_sparse", "use_mm_prefix",
       "use_per_head_quant_scales", "attn_type", "has_sliding_window", "num_heads"});
  LayerCall call;
  call.head_size = fields.at("head_size").get<std::int64_t>();
  call.dtype = fields.at("dtype").get<std::string>();
  call.kv_cache_dtype = optional_field<std::string>(fields, "kv_cache_dtype");
  call.use_mla = fields.value("use_mla", false);
  call.has_sink = fields.value("has_sink", false);
  call.use_sparse = fields.value("use_sparse", false);
  call.use_mm_prefix = fields.value("use_mm_prefix", false);
  call.use_per_head_quant_scales = fields.value("use_per_head_quant_scales", false);
  call.attn_type = attention_type_of(fields.value("attn_type", "decoder"));
  call.has_sliding_window = fields.value("has_sliding_window", false);
  call.num_heads = optional_field<std::int64_t>(fields, "num_heads");
  return call;
}

RunSettings run_of(const Json& fields) {
  refuse_unknown_fields(fields, "run",
                        {"cache_config", "block_size", "user_specified_block_size", "backend",
                         "backend_per_kind", "use_non_causal", "batch_invariant", "kv_transfer",
                         "pcp", "dcp", "speculative", "model_tag", "rswa_window"});
  RunSettings run;
  run.has_cache_config = fields.value("cache_config", true);
  run.block_size = fields.value("block_size", run.block_size);
  run.user_specified_block_size = fields.value("user_specified_block_size", false);
  run.backend = optional_field<std::string>(fields, "backend");
  run.backend_per_kind = per_kind_of(fields.value("backend_per_kind", Json::object()));
  run.use_non_causal = fields.value("use_non_causal", false);
  run.batch_invariant = fields.value("batch_invariant", false);
  run.kv_transfer_instance = optional_field<bool>(fields, "kv_transfer");
  run.pcp_size = fields.value("pcp", 1);
  run.dcp_size = fields.value("dcp", 1);
  run.adaptive_verification = optional_field<bool>(fields, "speculative");
  run.model_tag = fields.value("model_tag", "");
  run.rswa_window = optional_field<std::int64_t>(fields, "rswa_window");
  return run;
}

SelectionQuestion question_of(const AttentionSelectorConfig& config,
                              const LayerCall& call,
                              const RunSettings& run,
                              DeviceCapability capability) {
  SelectionQuestion question;
  question.config = config;
  question.capability = capability;
  question.num_heads = call.num_heads;
  if (run.rswa_window) {  // a window is a property of a model, so there is one
    question.model = ModelConfig();
    question.model->head_size = call.head_size;
    question.model->has_rswa_window = true;
  }
  return question;
}

Json answer_select(const Json& line) {
  static const BackendRegistry kRegistry = BackendRegistry::of_attention();
  const LayerCall call = call_of(line.at("call"));
  const RunSettings run = run_of(line.at("run"));
  const std::string kind =
      kv_cache_group_kind(call.attn_type, call.use_mla, call.has_sliding_window);
  Json expect;
  expect["backend"] = or_null(backend_asked_for(run, kind));
  expect["num_heads"] = or_null(call.num_heads);
  expect["record"] = nullptr;
  expect["kind"] = kind;
  expect["selected"] = nullptr;
  expect["error"] = nullptr;
  try {
    const AttentionSelectorConfig config = selector_config_of(call, run);
    expect["record"] = to_json(config);
    const SelectionQuestion question =
        question_of(config, call, run, device_capability_of(line.at("device_capability")));
    const Selection selection =
        select_attention_backend(question, backend_asked_for(run, kind), kRegistry);
    if (selection.facts != nullptr) expect["selected"] = selection.facts->class_name;
    if (selection.error) expect["error"] = selection.error->kind + ": " + selection.error->message;
  } catch (const RaisedError& error) {
    expect["error"] = error.with_kind();
  }
  return expect;
}

Json answer_mamba(const Json& line) {
  static const BackendRegistry kRegistry = BackendRegistry::of_mamba();
  Json expect = {{"get_name", nullptr}, {"error", nullptr}};
  try {
    expect["get_name"] = mamba_attention_backend(line.at("type").get<std::string>(),
                                                 line.at("batch_invariant").get<bool>(), kRegistry)
                             .get_name;
  } catch (const RaisedError& error) {
    expect["error"] = error.with_kind();
  }
  return expect;
}

Json answer_vit(const Json& line) {
  static const BackendRegistry kRegistry = BackendRegistry::of_attention();
  SelectionQuestion question;
  question.config.head_size = line.at("head_size").get<std::int64_t>();
  question.config.dtype = line.at("dtype").get<std::string>();
  question.capability = device_capability_of(line.at("device_capability"));
  Json expect = {{"selected", nullptr}, {"error", nullptr}};
  try {
    expect["selected"] =
        vit_attention_backend(question, optional_field<std::string>(line, "backend"), kRegistry);
  } catch (const RaisedError& error) {
    expect["error"] = error.what();
  }
  return expect;
}

Json answer_parse(const Json& line) {
  const Json& settings = line.at("settings");
  refuse_unknown_fields(settings, "settings", {"backend", "backend_per_kind"});
  Json expect = {
      {"backend", nullptr}, {"msa", nullptr}, {"backend_per_kind", nullptr}, {"error", nullptr}};
  try {
    const AttentionConfig config =
        parse_attention_config(optional_field<std::string>(settings, "backend"),
                               per_kind_of(settings.value("backend_per_kind", Json::object())),
                               BackendRegistry::of_attention());
    expect["backend"] = or_null(config.backend);
    expect["msa"] = config.minimax_msa_decode;
    expect["backend_per_kind"] = Json::object();
    for (const auto& [kind, backend] : config.backend_per_kind) {
      expect["backend_per_kind"][kind] = backend;
    }
  } catch (const RaisedError& error) {
    expect["error"] = error.what();
  }
  return expect;
}

Json result_of_operation(const Json& operation, BackendRegistry& registry) {
  const std::string op = operation.at("op").get<std::string>();
  if (op == "last") return registry.names().back();
  const std::string name = operation.at("name").get<std::string>();
  if (op == "lookup") {
    registry.check_member(name);
    return name;
  }
  if (op == "path") {
    return operation.value("with_class", true) ? registry.path_of(name) : registry.module_of(name);
  }
  if (op == "overridden") return registry.is_overridden(name);
  if (op == "clear") {
    registry.clear_override(name);
    return nullptr;
  }
  const std::string path = operation.at("path").get<std::string>();
  if (op == "override") {
    registry.override_path(name, path);
    return registry.path_of(name);
  }
  if (op == "new") {
    registry.add_member(name, path);
    return name;
  }
  refuse("op is {}; it may be one of: last, lookup, path, overridden, clear, override, new.", op);
}

Json answer_registry(const Json& line) {
  BackendRegistry registry =
      line.value("mamba", false) ? BackendRegistry::of_mamba() : BackendRegistry::of_attention();
  Json results = Json::array();
  for (const Json& operation : line.at("ops")) {
    try {
      results.push_back(result_of_operation(operation, registry));
    } catch (const RaisedError& error) {
      results.push_back(error.with_kind());
    }
  }
  return results;
}

}  // namespace

Json answer_selector(const Json& line) {
  const std::string what = line.at("what").get<std::string>();
  if (what == "select") return {{"expect", answer_select(line)}};
  if (what == "mamba") return {{"expect", answer_mamba(line)}};
  if (what == "vit") return {{"expect", answer_vit(line)}};
  if (what == "parse") return {{"expect", answer_parse(line)}};
  if (what == "registry") return {{"expect", answer_registry(line)}};
  refuse("what is {}; it may be one of: select, mamba, vit, parse, registry.", what);
}

}  // namespace pagelab
