// Layers that keep a state instead of keys and values: the layer names its member, nothing is chosen.

#include "reference/registry/catalogue/rows.h"

namespace pagelab::catalogue {

const BackendFacts& mamba1() {
  static const BackendFacts kRow = {
      .name = "MAMBA1",
      .path = "vllm.v1.attention.backends.mamba1_attn.Mamba1AttentionBackend",
      .family = "state_space",
      .description = "Mamba-1 recurrent state metadata.",
      .package = "",
      .class_name = "Mamba1AttentionBackend",
      .get_name = "MAMBA1_ATTN",
      .is_ssm = true,
      .supports_kv_connector = true,
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .reorder_batch_threshold = {.class_value = 1, .query_len_support = "", .in_constructor = ""},
      .decode_lse = std::nullopt,
  };
  return kRow;
}

const BackendFacts& mamba2() {
  static const BackendFacts kRow = {
      .name = "MAMBA2",
      .path = "vllm.v1.attention.backends.mamba2_attn.Mamba2AttentionBackend",
      .family = "state_space",
      .description = "Mamba-2 chunked state-space metadata.",
      .package = "",
      .class_name = "Mamba2AttentionBackend",
      .get_name = "MAMBA2_ATTN",
      .is_ssm = true,
      .supports_kv_connector = true,
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .reorder_batch_threshold = {.class_value = 1, .query_len_support = "", .in_constructor = ""},
      .decode_lse = std::nullopt,
  };
  return kRow;
}

const BackendFacts& short_conv() {
  static const BackendFacts kRow = {
      .name = "SHORT_CONV",
      .path = "vllm.v1.attention.backends.short_conv_attn.ShortConvAttentionBackend",
      .family = "state_space",
      .description = "Short causal convolution state.",
      .package = "",
      .class_name = "ShortConvAttentionBackend",
      .get_name = "SHORT_CONV_ATTN",
      .is_ssm = true,
      .supports_kv_connector = true,
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .reorder_batch_threshold = {.class_value = 1, .query_len_support = "", .in_constructor = ""},
      .decode_lse = std::nullopt,
  };
  return kRow;
}

const BackendFacts& linear() {
  static const BackendFacts kRow = {
      .name = "LINEAR",
      .path = "vllm.v1.attention.backends.linear_attn.LinearAttentionBackend",
      .family = "state_space",
      .description = "Linear attention recurrent state.",
      .package = "",
      .class_name = "LinearAttentionBackend",
      .get_name = "LINEAR_ATTN",
      .is_ssm = true,
      .supports_kv_connector = true,
      .cudagraph = AttentionCGSupport::kUniformSingleTokenDecode,
      .reorder_batch_threshold = {.class_value = 1, .query_len_support = "", .in_constructor = ""},
      .decode_lse = std::nullopt,
  };
  return kRow;
}

const BackendFacts& gdn_attn() {
  static const BackendFacts kRow = {
      .name = "GDN_ATTN",
      .path = "vllm.v1.attention.backends.gdn_attn.GDNAttentionBackend",
      .family = "state_space",
      .description = "Gated delta-net state (also the base of KDA variants).",
      .package = "",
      .class_name = "GDNAttentionBackend",
      .get_name = "GDN_ATTN",
      .is_ssm = true,
      .supports_kv_connector = true,
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .reorder_batch_threshold = {.class_value = 1, .query_len_support = "", .in_constructor = ""},
      .decode_lse = std::nullopt,
  };
  return kRow;
}

}  // namespace pagelab::catalogue
