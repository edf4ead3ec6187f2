#include "reference/contract/attention_step.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace pagelab {

std::int64_t CommonAttentionMetadata::max_query_len() const {
  std::int64_t longest = 0;
  for (std::int64_t req_idx = 0; req_idx < num_reqs(); ++req_idx) {
    longest = std::max(longest, query_len(req_idx));
  }
  return longest;
}

std::int64_t CommonAttentionMetadata::max_seq_len() const {
  std::int64_t longest = 0;
  for (std::int32_t seq_len : seq_lens) longest = std::max<std::int64_t>(longest, seq_len);
  return longest;
}

std::string to_string(AttnType type) {
  switch (type) {
    case AttnType::kDecoder:
      return "decoder";
    case AttnType::kEncoderOnly:
      return "encoder_only";
    case AttnType::kEncoderDecoder:
      return "encoder_decoder";
  }
  return fmt::format("attention type {}", static_cast<int>(type));
}

std::string to_string(const CommonAttentionMetadata& metadata) {
  constexpr std::int64_t kShown = 8;
  std::string text = fmt::format("{} requests, {} tokens, query/seq lengths", metadata.num_reqs(),
                                 metadata.num_actual_tokens());
  for (std::int64_t req_idx = 0; req_idx < metadata.num_reqs() && req_idx < kShown; ++req_idx) {
    text += fmt::format(" {}/{}", metadata.query_len(req_idx), metadata.seq_lens[req_idx]);
  }
  if (metadata.num_reqs() > kShown) text += " ...";
  return text;
}

std::string to_string(const AttentionVariant& variant) {
  const VisibilityRule& rule = variant.visibility;
  std::string text = fmt::format("{}, scale {:.6g}", to_string(variant.attn_type), variant.scale);
  text += rule.causal ? ", causal" : ", not causal";
  if (rule.window_left != kUnbounded || rule.window_right != kUnbounded) {
    text += fmt::format(", window [{}, {}]", rule.window_left, rule.window_right);
  }
  if (variant.logit_softcap) text += fmt::format(", soft cap {:.6g}", *variant.logit_softcap);
  if (!variant.alibi_slopes.empty()) text += ", ALiBi";
  if (!variant.sinks.empty()) text += ", sinks";
  if (!variant.mm_prefix_ranges.empty()) {
    text += fmt::format(", {} prefix ranges", variant.mm_prefix_ranges.size());
  }
  return text;
}

std::string to_string(const AttentionStep& step) {
  const KvCacheSpec& spec = step.cache.spec();
  return fmt::format(
      "query {} {}, key {}, value {}\n"
      "batch: {}\n"
      "variant: {}\n"
      "cache: {} blocks of {} tokens, {} KV heads, {} + {} elements, {}, {}",
      to_string(step.query.dtype()), to_string(step.query.shape()), to_string(step.key.shape()),
      to_string(step.value.shape()), to_string(step.metadata), to_string(step.variant),
      spec.num_blocks, spec.block_size, spec.num_kv_heads, spec.head_size, spec.head_size_v,
      to_string(spec.dtype), to_string(spec.layout));
}

}  // namespace pagelab
