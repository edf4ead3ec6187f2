#include "reference/registry/selector.h"

#include <algorithm>

#include "reference/registry/kv_cache_dtypes.h"
#include "reference/registry/python_text.h"
#include "reference/registry/raised_error.h"

namespace pagelab {
namespace {

// The drafter of adaptive verification is itself not verified adaptively.
constexpr const char* kDrafterTag = "dspark_head";

void check_kv_cache_dtype(const std::optional<std::string>& kv_cache_dtype) {
  const std::vector<std::string_view>& names = kv_cache_dtype_names();
  if (!kv_cache_dtype) return;
  if (std::find(names.begin(), names.end(), *kv_cache_dtype) != names.end()) return;
  const std::string list = python_list(names);
  throw RaisedError("AssertionError", "Invalid kv_cache_dtype: " + *kv_cache_dtype +
                                          ". Valid values are: (" +
                                          list.substr(1, list.size() - 2) + ")");
}

std::string upper_case(std::string text) {
  for (char& character : text) {
    if (character >= 'a' && character <= 'z') character = static_cast<char>(character - 'a' + 'A');
  }
  return text;
}

std::string checked_member(const std::string& written, const BackendRegistry& registry) {
  const std::string name = upper_case(written);
  registry.check_member(name);
  return name;
}

void check_kind(const std::string& kind) {
  const std::vector<std::string>& kinds = kv_cache_group_kinds();
  if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) return;
  throw RaisedError("ValueError",
                    "Unknown KV cache group kind '" + kind +
                        "' in backend_per_kind. Valid kinds are: " + comma_separated(kinds) + ".");
}

}  // namespace

AttentionSelectorConfig selector_config_of(const LayerCall& call, const RunSettings& run) {
  check_kv_cache_dtype(call.kv_cache_dtype);
  AttentionSelectorConfig config;
  config.head_size = call.head_size;
  config.dtype = call.dtype;
  config.kv_cache_dtype = call.kv_cache_dtype;
  if (run.has_cache_config && run.user_specified_block_size) config.block_size = run.block_size;
  config.use_mla = call.use_mla;
  config.has_sink = call.has_sink;
  config.use_sparse = call.use_sparse;
  config.use_mm_prefix = call.use_mm_prefix;
  config.use_per_head_quant_scales = call.use_per_head_quant_scales;
  config.attn_type = call.attn_type;
  config.has_sliding_window = call.has_sliding_window;
  config.use_non_causal = run.use_non_causal;
  config.use_batch_invariant = run.batch_invariant;
  config.use_kv_connector = run.kv_transfer_instance.value_or(false);
  config.use_pcp = run.pcp_size > 1;
  config.use_adaptive_verification =
      run.adaptive_verification.value_or(false) && run.model_tag != kDrafterTag;
  config.use_dcp = run.dcp_size > 1;
  config.use_rswa = run.rswa_window.has_value();
  return config;
}

std::string kv_cache_group_kind(AttentionType attn_type, bool use_mla, bool has_sliding_window) {
  if (attn_type == AttentionType::kEncoderOnly) return "encoder_only_attention";
  if (attn_type == AttentionType::kEncoderDecoder) return "cross_attention";
  if (use_mla) return has_sliding_window ? "sliding_window_mla" : "mla_attention";
  return has_sliding_window ? "sliding_window" : "full_attention";
}

const std::vector<std::string>& kv_cache_group_kinds() {
  static const std::vector<std::string> kKinds = {"chunked_local_attention",
                                                  "cross_attention",
                                                  "encoder_only_attention",
                                                  "full_attention",
                                                  "mamba",
                                                  "mla_attention",
                                                  "sink_full_attention",
                                                  "sliding_window",
                                                  "sliding_window_mla",
                                                  "unknown"};
  return kKinds;
}

std::optional<std::string> backend_asked_for(const RunSettings& run, const std::string& kind) {
  for (const auto& [kind_with_backend, backend] : run.backend_per_kind) {
    if (kind_with_backend == kind) return backend;
  }
  return run.backend;
}

AttentionConfig parse_attention_config(const std::optional<std::string>& backend,
                                       const BackendPerKind& backend_per_kind,
                                       const BackendRegistry& registry) {
  AttentionConfig config;
  const std::string name = upper_case(backend.value_or("auto"));
  if (name == "CUTLASS_MSA" || name == "TRITON_MSA") {
    config.minimax_msa_decode = name == "CUTLASS_MSA" ? "cutlass" : "triton";
  } else if (name != "AUTO") {
    config.backend = checked_member(name, registry);
  }
  for (const auto& [kind, written] : backend_per_kind) {
    check_kind(kind);
    config.backend_per_kind.emplace_back(kind, checked_member(written, registry));
  }
  return config;
}

}  // namespace pagelab
