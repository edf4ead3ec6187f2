// Latent attention over all keys.

#include "reference/registry/catalogue/rows.h"

#include "reference/registry/flash_attn_version.h"

namespace pagelab::catalogue {
namespace {

std::optional<std::string> flashinfer_mla_combination(const SelectionQuestion& question) {
  if (!question.model) return std::nullopt;
  const std::int64_t nope = question.model->qk_nope_head_dim.value_or(1);
  if (nope == 64 || nope == 128 || nope == 192) return std::nullopt;
  return "FlashInfer MLA kernel requires qk_nope_head_dim in [64, 128, 192], but got " +
         std::to_string(nope);
}

std::optional<std::string> tokenspeed_mla_combination(const SelectionQuestion& question) {
  if (!question.environment.tokenspeed_mla) {
    return "tokenspeed_mla package is not installed. Install it with: `uv pip install "
           "tokenspeed-mla`";
  }
  if (!question.model) return std::nullopt;
  const std::int64_t nope = question.model->qk_nope_head_dim.value_or(0);
  const std::int64_t rope = question.model->qk_rope_head_dim.value_or(0);
  const std::int64_t value = question.model->v_head_dim.value_or(0);
  if (nope == 128 && rope == 64 && value == 128) return std::nullopt;
  return "tokenspeed_mla requires DeepSeek R1 MLA dimensions (qk_nope_head_dim=128, "
         "qk_rope_head_dim=64, v_head_dim=128), got (" +
         std::to_string(nope) + ", " + std::to_string(rope) + ", " + std::to_string(value) + ")";
}

std::optional<std::string> flashmla_combination(const SelectionQuestion& question) {
  if (const std::optional<std::string> reason = flashmla_build_reason(question)) return reason;
  const int major = question.capability.major;
  if (question.config.use_sparse && major != 9 && major != 10) {
    return "FlashMLA Sparse is only supported on Hopper and Blackwell DC devices.";
  }
  if (!question.config.use_sparse && major != 9) {
    return "FlashMLA Dense is only supported on Hopper devices.";
  }
  return std::nullopt;
}

std::optional<std::string> flash_attn_mla_combination(const SelectionQuestion& question) {
  if (flash_attn_supports_mla(question)) return std::nullopt;
  return "FlashAttention MLA not supported on this device";
}

}  // namespace

std::optional<std::string> flashmla_build_reason(const SelectionQuestion& question) {
  switch (question.environment.flashmla) {
    case FlashMlaState::kNoKernels:
      return "vllm._flashmla_C is not available, likely was not compiled due to insufficient nvcc "
             "version or a supported arch was not in the list of target arches to compile for.";
    case FlashMlaState::kNoExtension:
      return "vllm._flashmla_extension_C is not available, likely was not compiled due to a build "
             "error.";
    case FlashMlaState::kBuilt:
      break;
  }
  return std::nullopt;
}

const BackendFacts& flashinfer_mla() {
  static const BackendFacts kRow = {
      .name = "FLASHINFER_MLA",
      .path = "vllm.v1.attention.backends.mla.flashinfer_mla.FlashInferMLABackend",
      .family = "mla",
      .description = "FlashInfer's Blackwell MLA decode (TRT-LLM generated).",
      .package = "flashinfer",
      .class_name = "FlashInferMLABackend",
      .get_name = "FLASHINFER_MLA",
      .kv_cache_dtypes = {"auto", "float16", "bfloat16", "fp8", "fp8_e4m3"},
      .kernel_block_sizes = KernelBlockSizes{fixed(32), fixed(64)},
      .head_sizes = HeadSizes{.listed = {320, 512, 576}},
      .capabilities = {{{10, 0}, {10, 99}}},
      .is_mla = true,
      .supports_non_causal = true,
      .supports_kv_connector = true,
      .supports_pcp = true,
      .supports_dcp = true,
      .supports_non_causal_dcp = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .supports_combination = flashinfer_mla_combination,
      .missing_imports = {"flashinfer"},
      .cudagraph = AttentionCGSupport::kAlways,
      .reorder_batch_threshold = {.class_value = 1,
                                  .query_len_support = "VARLEN",
                                  .in_constructor =
                                      "at least 1+speculative tokens when speculating; 1 under DCP "
                                      "unless the builder asks otherwise"},
      .kv_page = kLatent,
      .decode_lse = DecodeLse{.returned = true, .natural_log = true},
  };
  return kRow;
}

const BackendFacts& tokenspeed_mla() {
  static const BackendFacts kRow = {
      .name = "TOKENSPEED_MLA",
      .path = "vllm.v1.attention.backends.mla.tokenspeed_mla.TokenspeedMLABackend",
      .family = "mla",
      .description = "TokenSpeed CuTe kernels for DeepSeek-R1 shapes with fp8 KV only.",
      .package = "tokenspeed_mla",
      .class_name = "TokenspeedMLABackend",
      .get_name = "TOKENSPEED_MLA",
      .kv_cache_dtypes = {"fp8", "fp8_e4m3"},
      .kernel_block_sizes = KernelBlockSizes{fixed(32), fixed(64)},
      .head_sizes = HeadSizes{.listed = {320, 512, 576}},
      .capabilities = {{{10, 0}, {10, 99}}},
      .is_mla = true,
      .supports_non_causal = true,
      .supports_kv_connector = true,
      .supports_pcp = true,
      .supports_dcp = true,
      .supports_non_causal_dcp = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .supports_combination = tokenspeed_mla_combination,
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .reorder_batch_threshold = {.class_value = 1,
                                  .query_len_support = "UNIFORM",
                                  .in_constructor =
                                      "at least 1+speculative tokens when speculating; 1 under DCP "
                                      "unless the builder asks otherwise"},
      .kv_page = kLatent,
      .decode_lse = DecodeLse{.returned = true, .natural_log = false},
  };
  return kRow;
}

const BackendFacts& triton_mla() {
  static const BackendFacts kRow = {
      .name = "TRITON_MLA",
      .path = "vllm.v1.attention.backends.mla.triton_mla.TritonMLABackend",
      .family = "mla",
      .description = "Triton MLA decode, the MLA fallback on every capability.",
      .package = "triton",
      .class_name = "TritonMLABackend",
      .get_name = "TRITON_MLA",
      .kv_cache_dtypes = {"auto", "float16", "bfloat16", "fp8", "fp8_e4m3"},
      .kernel_block_sizes = KernelBlockSizes{multiple_of(16)},
      .is_mla = true,
      .supports_non_causal = true,
      .supports_batch_invariance = true,
      .supports_kv_connector = true,
      .supports_pcp = true,
      .supports_dcp = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .reorder_batch_threshold = {.class_value = 1,
                                  .query_len_support = "UNIFORM",
                                  .in_constructor =
                                      "at least 1+speculative tokens when speculating; 1 under DCP "
                                      "unless the builder asks otherwise"},
      .kv_page = kLatent,
      .decode_lse = DecodeLse{.returned = true, .natural_log = true},
  };
  return kRow;
}

const BackendFacts& cutlass_mla() {
  static const BackendFacts kRow = {
      .name = "CUTLASS_MLA",
      .path = "vllm.v1.attention.backends.mla.cutlass_mla.CutlassMLABackend",
      .family = "mla",
      .description = "CUTLASS MLA decode on Blackwell with 128-token pages.",
      .package = "vllm._C",
      .class_name = "CutlassMLABackend",
      .get_name = "CUTLASS_MLA",
      .kv_cache_dtypes = {"auto", "float16", "bfloat16", "fp8", "fp8_e4m3"},
      .kernel_block_sizes = KernelBlockSizes{fixed(128)},
      .head_sizes = HeadSizes{.listed = {320, 512, 576}},
      .capabilities = {{{10, 0}, {10, 99}}},
      .is_mla = true,
      .supports_kv_connector = true,
      .supports_pcp = true,
      .supports_dcp = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .cudagraph = AttentionCGSupport::kUniformSingleTokenDecode,
      .reorder_batch_threshold = {.class_value = 1,
                                  .query_len_support = "SINGLE_ONLY",
                                  .in_constructor = ""},
      .kv_page = kLatent,
      .decode_lse = DecodeLse{.returned = true, .natural_log = true},
  };
  return kRow;
}

const BackendFacts& flashmla() {
  static const BackendFacts kRow = {
      .name = "FLASHMLA",
      .path = "vllm.v1.attention.backends.mla.flashmla.FlashMLABackend",
      .family = "mla",
      .description =
          "DeepSeek's FlashMLA dense decode; accepts 9.x and 10.x by capability but its own rule "
          "then rejects everything except 9.x.",
      .package = "flash_mla",
      .class_name = "FlashMLABackend",
      .get_name = "FLASHMLA",
      .kv_cache_dtypes = {"auto", "float16", "bfloat16", "fp8", "fp8_e4m3"},
      .kernel_block_sizes = KernelBlockSizes{fixed(64)},
      .head_sizes = HeadSizes{.listed = {320, 512, 576}},
      .capabilities = {{{9, 0}, {9, 99}}, {{10, 0}, {10, 99}}},
      .is_mla = true,
      .supports_kv_connector = true,
      .supports_pcp = true,
      .supports_dcp = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .supports_combination = flashmla_combination,
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .reorder_batch_threshold = {.class_value = 128,
                                  .query_len_support = "UNIFORM",
                                  .in_constructor =
                                      "at least 1+speculative tokens when speculating; 1 under DCP "
                                      "unless the builder asks otherwise"},
      .kv_page = kLatent,
      .decode_lse = DecodeLse{.returned = true, .natural_log = true},
  };
  return kRow;
}

const BackendFacts& flash_attn_mla() {
  static const BackendFacts kRow = {
      .name = "FLASH_ATTN_MLA",
      .path = "vllm.v1.attention.backends.mla.flashattn_mla.FlashAttnMLABackend",
      .family = "mla",
      .description = "FlashAttention 3 MLA decode on Hopper.",
      .package = "vllm_flash_attn",
      .class_name = "FlashAttnMLABackend",
      .get_name = "FLASH_ATTN_MLA",
      .kernel_block_sizes = KernelBlockSizes{multiple_of(16)},
      .head_sizes = HeadSizes{.listed = {320, 512, 576}},
      .capabilities = {{{9, 0}, {9, 99}}},
      .is_mla = true,
      .supports_batch_invariance = true,
      .supports_kv_connector = true,
      .supports_pcp = true,
      .supports_dcp = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .supports_combination = flash_attn_mla_combination,
      .missing_imports = {kNoFlashAttn},
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .reorder_batch_threshold =
          {.class_value = 512,
           .query_len_support = "VARLEN",
           .in_constructor = "512; stays so under DCP only when the KV interleave size is 1."},
      .kv_page = kLatent,
      .decode_lse = DecodeLse{.returned = true, .natural_log = true},
  };
  return kRow;
}

}  // namespace pagelab::catalogue
