// AMD's backends for latent attention. Under CUDA every probe of an AMD GPU answers no.

#include "reference/registry/catalogue/rows.h"

namespace pagelab::catalogue {
namespace {

std::optional<std::string> aiter_mla_reason_after_all(const SelectionQuestion& question) {
  const AttentionSelectorConfig& config = question.config;
  const std::string kv_cache_dtype = config.kv_cache_dtype.value_or("auto");
  if (config.use_non_causal && config.dtype == "float16" &&
      (kv_cache_dtype == "auto" || kv_cache_dtype == "float16")) {
    return "non-causal fp16 MLA decode not supported";
  }
  return std::nullopt;
}

}  // namespace

const BackendFacts& rocm_aiter_mla() {
  static const BackendFacts kRow = {
      .name = "ROCM_AITER_MLA",
      .path = "vllm.v1.attention.backends.mla.rocm_aiter_mla.AiterMLABackend",
      .family = "rocm_mla",
      .description =
          "AITER assembly MLA decode for CDNA; overrides validate_configuration to append one "
          "reason after all others.",
      .package = "aiter",
      .class_name = "AiterMLABackend",
      .get_name = "ROCM_AITER_MLA",
      .kv_cache_dtypes = {"auto", "float16", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2"},
      .is_mla = true,
      .supports_kv_connector = true,
      .supports_pcp = true,
      .supports_dcp = true,
      .supports_non_causal_dcp = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .reason_after_all = aiter_mla_reason_after_all,
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .reorder_batch_threshold = {.class_value = 1,
                                  .query_len_support = "UNIFORM",
                                  .in_constructor =
                                      "at least 1+speculative tokens when speculating; 1 under DCP "
                                      "unless the builder asks otherwise"},
      .kv_page = kLatent,
      .decode_lse = DecodeLse{.returned = true, .natural_log = true},
      .notes =
          "supports_non_causal: false unless AITER exposes non-causal decode and the GPU's kernel "
          "set has it; false off ROCm.",
  };
  return kRow;
}

const BackendFacts& rocm_aiter_triton_mla() {
  static const BackendFacts kRow = {
      .name = "ROCM_AITER_TRITON_MLA",
      .path = "vllm.v1.attention.backends.mla.aiter_triton_mla.AiterTritonMLABackend",
      .family = "rocm_mla",
      .description =
          "Same as ROCM_AITER_MLA with AITER's Triton kernels; its get_name() is AITER_TRITON_MLA.",
      .package = "aiter",
      .class_name = "AiterTritonMLABackend",
      .get_name = "AITER_TRITON_MLA",
      .kv_cache_dtypes = {"auto", "float16", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2"},
      .is_mla = true,
      .supports_kv_connector = true,
      .supports_pcp = true,
      .supports_dcp = true,
      .supports_non_causal_dcp = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .reason_after_all = aiter_mla_reason_after_all,
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .reorder_batch_threshold = {.class_value = 1,
                                  .query_len_support = "UNIFORM",
                                  .in_constructor =
                                      "at least 1+speculative tokens when speculating; 1 under DCP "
                                      "unless the builder asks otherwise"},
      .kv_page = kLatent,
      .decode_lse = DecodeLse{.returned = true, .natural_log = true},
      .notes = "supports_non_causal: as ROCM_AITER_MLA.",
  };
  return kRow;
}

const BackendFacts& rocm_aiter_mla_sparse() {
  static const BackendFacts kRow = {
      .name = "ROCM_AITER_MLA_SPARSE",
      .path = "vllm.v1.attention.backends.mla.rocm_aiter_mla_sparse.ROCMAiterMLASparseBackend",
      .family = "rocm_sparse_mla",
      .description = "AITER sparse MLA decode over indexer-chosen rows.",
      .package = "aiter",
      .class_name = "ROCMAiterMLASparseBackend",
      .get_name = "ROCM_AITER_MLA_SPARSE",
      .kv_cache_dtypes = {"auto", "float16", "bfloat16", "fp8", "fp8_e4m3"},
      .kernel_block_sizes = KernelBlockSizes{fixed(1), multiple_of(16)},
      .is_mla = true,
      .is_sparse = true,
      .supports_kv_connector = true,
      .supports_pcp = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .missing_imports = {kNoFlashAttn},
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .reorder_batch_threshold = {.class_value = {},
                                  .query_len_support = "",
                                  .in_constructor =
                                      "1; 1+speculative tokens when speculating; 1 under DCP"},
      .kv_page = kLatent,
      .block_stride_multiple = 1,
      .kv_cache_layouts = {"LBNHC", "LBHNC", "BLHNC"},
      .notes = "supports_sink: true only on gfx942 and gfx950.",
  };
  return kRow;
}

}  // namespace pagelab::catalogue
