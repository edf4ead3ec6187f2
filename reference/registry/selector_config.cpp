#include "reference/registry/selector_config.h"

#include "reference/registry/python_text.h"

namespace pagelab {

std::string to_string(AttentionType attn_type) {
  switch (attn_type) {
    case AttentionType::kDecoder:
      return "AttentionType.DECODER";
    case AttentionType::kEncoder:
      return "AttentionType.ENCODER";
    case AttentionType::kEncoderOnly:
      return "AttentionType.ENCODER_ONLY";
    case AttentionType::kEncoderDecoder:
      return "AttentionType.ENCODER_DECODER";
  }
  return "";
}

std::string to_string(const AttentionSelectorConfig& config) {
  constexpr std::size_t kUsualLength = 600;
  std::string text;
  text.reserve(kUsualLength);
  text += "AttentionSelectorConfig(head_size=" + std::to_string(config.head_size);
  text += ", dtype=torch." + config.dtype;
  text += ", kv_cache_dtype=" + config.kv_cache_dtype.value_or("None");
  text += ", block_size=" + python_number(config.block_size);
  const auto add_flag = [&text](const char* name, bool value) {
    text += ", ";
    text += name;
    text += value ? "=True" : "=False";
  };
  add_flag("use_mla", config.use_mla);
  add_flag("has_sink", config.has_sink);
  add_flag("use_sparse", config.use_sparse);
  add_flag("use_mm_prefix", config.use_mm_prefix);
  add_flag("use_per_head_quant_scales", config.use_per_head_quant_scales);
  text += ", attn_type=" + to_string(config.attn_type);
  add_flag("has_sliding_window", config.has_sliding_window);
  add_flag("use_non_causal", config.use_non_causal);
  add_flag("use_batch_invariant", config.use_batch_invariant);
  add_flag("use_kv_connector", config.use_kv_connector);
  add_flag("use_adaptive_verification", config.use_adaptive_verification);
  add_flag("use_pcp", config.use_pcp);
  add_flag("use_dcp", config.use_dcp);
  add_flag("use_rswa", config.use_rswa);
  text += ")";
  return text;
}

}  // namespace pagelab
