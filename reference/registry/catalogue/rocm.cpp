// AMD's ordinary backends. Under CUDA every probe of an AMD GPU answers no.

#include "reference/registry/catalogue/rows.h"

namespace pagelab::catalogue {
namespace {

// The first rule alone is ever met under CUDA; on an RDNA GPU, fp8 needs gfx12.
std::optional<std::string> rocm_segmented_attn_combination(const SelectionQuestion& question) {
  const RocmPlatform& platform = question.environment.rocm;
  const std::optional<std::string>& kv_cache_dtype = question.config.kv_cache_dtype;
  if (!platform.is_rdna) return "ROCM_SEGMENTED_ATTN requires AMD RDNA GPUs on ROCm";
  if ((kv_cache_dtype == "fp8" || kv_cache_dtype == "fp8_e4m3") && !platform.gfx12) {
    return "FP8 segmented attention requires gfx12";
  }
  return std::nullopt;
}

}  // namespace

const BackendFacts& rocm_attn() {
  static const BackendFacts kRow = {
      .name = "ROCM_ATTN",
      .path = "vllm.v1.attention.backends.rocm_attn.RocmAttentionBackend",
      .family = "rocm",
      .description =
          "AMD's native HIP paged attention with Triton fallbacks; K and V are two separate head "
          "groups in the page.",
      .package = "vllm._rocm_C",
      .class_name = "RocmAttentionBackend",
      .get_name = "ROCM_ATTN",
      .dtypes = {"float16", "bfloat16", "float32"},
      .kv_cache_dtypes = {"auto", "float16", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2"},
      .kernel_block_sizes = KernelBlockSizes{multiple_of(16)},
      .head_sizes = HeadSizes{.listed = {32, 64, 80, 96, 128, 160, 192, 224, 256}},
      .supports_sliding_window = true,
      .supports_non_causal = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .attn_types = {AttentionType::kDecoder, AttentionType::kEncoder, AttentionType::kEncoderOnly},
      .cudagraph = AttentionCGSupport::kAlways,
      .kv_page = kTwoHeadGroups,
      .kv_cache_layouts = {"LHBNC", "LBHNC"},
      .forward_includes_kv_cache_update = false,
  };
  return kRow;
}

const BackendFacts& rocm_segmented_attn() {
  static const BackendFacts kRow = {
      .name = "ROCM_SEGMENTED_ATTN",
      .path = "vllm.v1.attention.backends.rocm_segmented_attn.RocmSegmentedAttentionBackend",
      .family = "rocm",
      .description = "RDNA variant of ROCM_ATTN tuned for segmented prefill.",
      .package = "triton",
      .class_name = "RocmSegmentedAttentionBackend",
      .get_name = "ROCM_SEGMENTED_ATTN",
      .kv_cache_dtypes = {"auto", "float16", "bfloat16", "fp8", "fp8_e4m3"},
      .kernel_block_sizes = KernelBlockSizes{multiple_of(16)},
      .head_sizes = HeadSizes{.listed = {64, 128, 256}},
      .supports_sink = true,
      .supports_sliding_window = true,
      .supports_non_causal = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .supports_combination = rocm_segmented_attn_combination,
      .cudagraph = AttentionCGSupport::kAlways,
      .kv_page = kTwoHeadGroups,
      .kv_cache_layouts = {"LHBNC", "LBHNC"},
      .forward_includes_kv_cache_update = false,
  };
  return kRow;
}

const BackendFacts& rocm_aiter_fa() {
  static const BackendFacts kRow = {
      .name = "ROCM_AITER_FA",
      .path = "vllm.v1.attention.backends.rocm_aiter_fa.AiterFlashAttentionBackend",
      .family = "rocm",
      .description = "AITER flash attention; note get_name() returns FLASH_ATTN.",
      .package = "aiter",
      .class_name = "AiterFlashAttentionBackend",
      .get_name = "FLASH_ATTN",
      .kv_cache_dtypes = {"auto", "float16", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2"},
      .kernel_block_sizes = KernelBlockSizes{fixed(16), fixed(32)},
      .head_sizes = HeadSizes{.listed = {64, 128, 256}},
      .capabilities = {},
      .supports_sink = true,
      .supports_sliding_window = true,
      .supports_non_causal = true,
      .supports_kv_connector = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .missing_imports = {kNoFlashAttn},
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .reorder_batch_threshold = {.class_value = {},
                                  .query_len_support = "",
                                  .in_constructor =
                                      "1; 1+speculative tokens when speculating; 1 under DCP"},
      .kv_page = kKeysAndValues,
      .kv_cache_layouts = {"LBHNC", "LHBNC"},
      .forward_includes_kv_cache_update = false,
      .notes = "CDNA version must be above 2; on a CUDA machine this is always false.",
  };
  return kRow;
}

const BackendFacts& rocm_aiter_unified_attn() {
  static const BackendFacts kRow = {
      .name = "ROCM_AITER_UNIFIED_ATTN",
      .path = "vllm.v1.attention.backends.rocm_aiter_unified_attn.RocmAiterUnifiedAttentionBackend",
      .family = "rocm",
      .description = "AITER's unified Triton attention.",
      .package = "aiter",
      .class_name = "RocmAiterUnifiedAttentionBackend",
      .get_name = "ROCM_AITER_UNIFIED_ATTN",
      .kv_cache_dtypes = {"auto", "float16", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2"},
      .kernel_block_sizes = KernelBlockSizes{multiple_of(16)},
      .favourite_block_size = 64,
      .head_sizes = HeadSizes{.least = 32},
      .supports_sink = true,
      .supports_sliding_window = true,
      .supports_kv_connector = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .attn_types = {AttentionType::kDecoder, AttentionType::kEncoder, AttentionType::kEncoderOnly,
                     AttentionType::kEncoderDecoder},
      .cudagraph = AttentionCGSupport::kAlways,
      .kv_page = kKeysAndValues,
      .kv_cache_layouts = {"LBHNC", "LHBNC"},
      .forward_includes_kv_cache_update = false,
      .notes = "Layouts: Only LBHNC when a KV connector is configured.",
  };
  return kRow;
}

const BackendFacts& ultraquant() {
  static const BackendFacts kRow = {
      .name = "ULTRAQUANT",
      .path = "vllm.v1.attention.backends.ultraquant_attn.UltraQuantAttentionBackend",
      .family = "rocm",
      .description = "FP4 with UE8M0 group scales, for ultraquant_4bit caches only (null refused).",
      .package = "triton",
      .class_name = "UltraQuantAttentionBackend",
      .get_name = "ULTRAQUANT",
      .dtypes = {"bfloat16"},
      .kv_cache_dtypes = {"ultraquant_4bit"},
      .needs_kv_cache_dtype = true,
      .kernel_block_sizes = KernelBlockSizes{fixed(16), fixed(32), fixed(64), fixed(128)},
      .favourite_block_size = 64,
      .head_sizes = HeadSizes{.least = 1},
      .supports_kv_connector = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .missing_imports = {"triton", kNoFlashAttn},
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .reorder_batch_threshold = {.class_value = {},
                                  .query_len_support = "",
                                  .in_constructor = "1"},
      .kv_page = kKeysAndValues,
      .quantised_page = "ultraquant_4bit: C bytes = slot_size(head_size); 136 at head_size 128",
      .kv_cache_layouts = {"LBNHC"},
      .forward_includes_kv_cache_update = false,
  };
  return kRow;
}

}  // namespace pagelab::catalogue
