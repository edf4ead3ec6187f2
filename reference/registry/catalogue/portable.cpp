// What runs on every GPU: Triton and PyTorch's FlexAttention, and the packed caches in Triton.

#include "reference/registry/catalogue/rows.h"

namespace pagelab::catalogue {

const BackendFacts& triton_attn() {
  static const BackendFacts kRow = {
      .name = "TRITON_ATTN",
      .path = "vllm.v1.attention.backends.triton_attn.TritonAttentionBackend",
      .family = "ordinary",
      .description =
          "Triton paged attention, the widest-ranging GPU fallback: every attention type, fp32, "
          "sinks, prefix masks and inline per-token-head quantised KV.",
      .package = "triton",
      .class_name = "TritonAttentionBackend",
      .get_name = "TRITON_ATTN",
      .dtypes = {"float16", "bfloat16", "float32"},
      .kv_cache_dtypes = {"auto", "float16", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2",
                          "int4_per_token_head", "int8_per_token_head", "fp8_per_token_head"},
      .kernel_block_sizes = KernelBlockSizes{multiple_of(16)},
      .head_sizes = HeadSizes{.least = 32},
      .supports_sink = true,
      .supports_alibi_sqrt = true,
      .supports_mm_prefix = true,
      .supports_sliding_window = true,
      .supports_rswa = true,
      .supports_non_causal = true,
      .supports_batch_invariance = true,
      .supports_kv_connector = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .attn_types = {AttentionType::kDecoder, AttentionType::kEncoder, AttentionType::kEncoderOnly,
                     AttentionType::kEncoderDecoder},
      .cudagraph = AttentionCGSupport::kAlways,
      .kv_page = kKeysAndValues,
      .quantised_page =
          "int8_per_token_head,fp8_per_token_head: C bytes = head_size + head_size_v + 8 (one fp32 "
          "scale per side); int4_per_token_head: C bytes = head_size//2 + head_size_v//2 + 8",
      .forward_includes_kv_cache_update = false,
  };
  return kRow;
}

const BackendFacts& triton_attn_diffkv() {
  static const BackendFacts kRow = {
      .name = "TRITON_ATTN_DIFFKV",
      .path = "vllm.v1.attention.backends.triton_attn_diffkv.TritonAttentionDiffKVBackend",
      .family = "ordinary",
      .description = "Triton attention with different key and value head widths, decoder only.",
      .package = "triton",
      .class_name = "TritonAttentionDiffKVBackend",
      .get_name = "TRITON_ATTN_DIFFKV",
      .dtypes = {"float16", "bfloat16", "float32"},
      .kv_cache_dtypes = {"auto", "bfloat16", "fp8", "fp8_e4m3"},
      .kernel_block_sizes = KernelBlockSizes{multiple_of(16)},
      .head_sizes = HeadSizes{.least = 32},
      .supports_sink = true,
      .supports_alibi_sqrt = true,
      .supports_mm_prefix = true,
      .supports_sliding_window = true,
      .supports_rswa = true,
      .supports_non_causal = true,
      .supports_batch_invariance = true,
      .supports_kv_connector = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .cudagraph = AttentionCGSupport::kAlways,
      .kv_page = kKeysAndOtherValues,
      .forward_includes_kv_cache_update = false,
      .head_size_v_default = 128,
  };
  return kRow;
}

const BackendFacts& flex_attention() {
  static const BackendFacts kRow = {
      .name = "FLEX_ATTENTION",
      .path = "vllm.v1.attention.backends.flex_attention.FlexAttentionBackend",
      .family = "ordinary",
      .description = "PyTorch FlexAttention; any head size and fp32, decoder and encoder-only.",
      .package = "torch",
      .class_name = "FlexAttentionBackend",
      .get_name = "FLEX_ATTENTION",
      .dtypes = {"float16", "bfloat16", "float32"},
      .kernel_block_sizes = KernelBlockSizes{multiple_of(16)},
      .supports_mm_prefix = true,
      .supports_sliding_window = true,
      .supports_rswa = true,
      .supports_non_causal = true,
      .supports_batch_invariance = true,
      .supports_kv_connector = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .attn_types = {AttentionType::kDecoder, AttentionType::kEncoderOnly},
      .missing_imports = {kNoFlashAttn},
      .cudagraph = AttentionCGSupport::kAlways,
      .kv_page = kKeysAndValues,
      .kv_cache_layouts = {"LBNHC"},
      .forward_includes_kv_cache_update = false,
  };
  return kRow;
}

const BackendFacts& turboquant() {
  static const BackendFacts kRow = {
      .name = "TURBOQUANT",
      .path = "vllm.v1.attention.backends.turboquant_attn.TurboQuantAttentionBackend",
      .family = "ordinary",
      .description =
          "Hadamard-rotated packed KV (2.5 to 4 bits); serves only turboquant_* caches, not even a "
          "null cache dtype.",
      .package = "triton",
      .class_name = "TurboQuantAttentionBackend",
      .get_name = "TURBOQUANT",
      .kv_cache_dtypes = {"turboquant_k8v4", "turboquant_4bit_nc", "turboquant_k3v4_nc",
                          "turboquant_3bit_nc"},
      .needs_kv_cache_dtype = true,
      .kernel_block_sizes = KernelBlockSizes{fixed(16), fixed(32), fixed(64), fixed(128)},
      .head_sizes = HeadSizes{.least = 1},
      .supports_kv_connector = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .missing_imports = {kNoFlashAttn},
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .reorder_batch_threshold = {.class_value = {},
                                  .query_len_support = "",
                                  .in_constructor = "1"},
      .kv_page = kKeysAndValues,
      .quantised_page = "turboquant_*: C bytes = the preset's aligned slot size for head_size",
      .kv_cache_layouts = {"LBNHC"},
      .forward_includes_kv_cache_update = false,
  };
  return kRow;
}

}  // namespace pagelab::catalogue
