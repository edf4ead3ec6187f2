#include "reference/registry/step_question.h"

namespace pagelab {
namespace {

AttentionType attention_type(AttnType attn_type) {
  switch (attn_type) {
    case AttnType::kEncoderOnly:
      return AttentionType::kEncoderOnly;
    case AttnType::kEncoderDecoder:
      return AttentionType::kEncoderDecoder;
    case AttnType::kDecoder:
      break;
  }
  return AttentionType::kDecoder;
}

bool has_window(const VisibilityRule& rule) {
  return rule.window_left != kUnbounded || rule.window_right != kUnbounded;
}

}  // namespace

std::string kv_cache_dtype_name(DType cache, DType activations) {
  return cache == activations ? "auto" : std::string(to_string(cache));
}

SelectionQuestion question_of_step(const AttentionStep& step) {
  const KvCacheSpec& cache = step.cache.spec();
  const AttentionVariant& variant = step.variant;
  SelectionQuestion question;

  AttentionSelectorConfig& config = question.config;
  config.head_size = step.head_size();
  config.dtype = to_string(step.query.dtype());
  config.kv_cache_dtype = kv_cache_dtype_name(cache.dtype, step.query.dtype());
  config.block_size = cache.block_size;
  config.has_sink = !variant.sinks.empty();
  config.use_mm_prefix = !variant.mm_prefix_ranges.empty();
  config.use_per_head_quant_scales = step.cache.k_scale.size() > 1 || step.cache.v_scale.size() > 1;
  config.attn_type = attention_type(variant.attn_type);
  config.has_sliding_window = has_window(variant.visibility);
  // The other kinds of attention are never causal; that is no wish of the layer's.
  config.use_non_causal = variant.attn_type == AttnType::kDecoder && !variant.visibility.causal;

  ModelConfig& model = question.model.emplace();
  model.head_size = step.head_size();
  model.num_heads = step.num_query_heads();
  model.num_kv_heads = step.num_kv_heads();
  model.is_mm_prefix_lm = config.use_mm_prefix;
  model.attn_logit_softcapping = variant.logit_softcap;
  return question;
}

}  // namespace pagelab
