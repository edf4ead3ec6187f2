// DeepSeek V4 and V4.1: the model's own layers name these; no list holds them.

#include <algorithm>

#include "reference/registry/catalogue/rows.h"

namespace pagelab::catalogue {
namespace {

constexpr std::string_view kNotSupported = "kv_cache_dtype not supported";

bool is_one_of(const std::optional<std::string>& kv_cache_dtype,
               std::initializer_list<std::string_view> names) {
  return kv_cache_dtype && std::find(names.begin(), names.end(), *kv_cache_dtype) != names.end();
}

// Each generation reads other caches; a dtype that is not known is good on 10.x alone.
std::optional<std::string> flashinfer_dsv4_combination(const SelectionQuestion& question) {
  const std::optional<std::string>& kv_cache_dtype = question.config.kv_cache_dtype;
  const int major = question.capability.major;
  if (major == 10) {
    if (kv_cache_dtype == "fp8_ds_mla") {
      return "FLASHINFER_MLA_SPARSE_DSV4 SM10x uses the plain per-tensor FP8 KV layout, not "
             "fp8_ds_mla";
    }
    if (kv_cache_dtype && !is_one_of(kv_cache_dtype, {"auto", "bfloat16", "fp8", "fp8_e4m3"})) {
      return std::string(kNotSupported);
    }
    return std::nullopt;
  }
  if (major == 12) {
    if (!is_one_of(kv_cache_dtype, {"fp8", "fp8_e4m3", "fp8_ds_mla"})) {
      return std::string(kNotSupported);
    }
    if (!question.environment.flashinfer_sm120_sparse) {
      return "FLASHINFER_MLA_SPARSE_DSV4 SM120 requires FlashInfer's sparse MLA decode API";
    }
    return std::nullopt;
  }
  return "FLASHINFER_MLA_SPARSE_DSV4 requires SM10x or SM12x";
}

KernelBlockSizes dsv41_kernel_block_sizes(const SelectionQuestion& question) {
  return {fixed(question.capability.major == 9 ? 64 : 128)};
}

std::optional<std::string> flashmla_mega_attn_dsv41_combination(const SelectionQuestion& question) {
  if (const std::optional<std::string> reason = flashmla_build_reason(question)) return reason;
  const int major = question.capability.major;
  if (major != 9 && major != 10) {
    return "FlashMLA Sparse is only supported on Hopper and Blackwell DC devices.";
  }
  if (major != 10) return "FlashMLA mega attention requires sm_10x GPUs.";
  switch (question.environment.mega_attn) {
    case MegaAttnState::kNoOps:
      return "vllm._flashmla_C was built without the mega attention ops.";
    case MegaAttnState::kNoPermute:
      return "vllm._flashmla_C predates the mega attention weight permutes.";
    case MegaAttnState::kBuilt:
      break;
  }
  return std::nullopt;
}

}  // namespace

const BackendFacts& flashmla_sparse_dsv4() {
  static const BackendFacts kRow = {
      .name = "FLASHMLA_SPARSE_DSV4",
      .path = "vllm.models.deepseek_v4.sparse_mla.DeepseekV4FlashMLABackend",
      .family = "model_driven",
      .description =
          "DeepSeek V4 layers on FlashMLA. Model-driven: the model's own attention layer names "
          "this class; it has no implementation class, so PCP and DCP come out false.",
      .package = "flash_mla",
      .class_name = "DeepseekV4FlashMLABackend",
      .get_name = "FLASHMLA_SPARSE_DSV4",
      .dtypes = {"bfloat16"},
      .kv_cache_dtypes = {"auto", "fp8_ds_mla", "fp8"},
      .kernel_block_sizes = KernelBlockSizes{fixed(256)},
      .head_sizes = HeadSizes{.listed = {512}},
      .capabilities = {{{9, 0}, {9, 99}}, {{10, 0}, {10, 99}}},
      .is_mla = true,
      .is_sparse = true,
      .supports_sink = true,
      .supports_kv_connector = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .missing_imports = {kNoFlashAttn},
      .cudagraph = AttentionCGSupport::kAlways,
      .reorder_batch_threshold = {.class_value = {},
                                  .query_len_support = "",
                                  .in_constructor =
                                      "1; 1+speculative tokens when speculating; 1 under DCP"},
      .kv_page = kLatent,
      .decode_lse = std::nullopt,
      .notes =
          "The model's own layers build the cache description (several caches, some compressed); "
          "the fp8_ds_mla record is 584 bytes per stored state.",
  };
  return kRow;
}

const BackendFacts& flashinfer_mla_sparse_dsv4() {
  static const BackendFacts kRow = {
      .name = "FLASHINFER_MLA_SPARSE_DSV4",
      .path =
          "vllm.models.deepseek_v4.nvidia.flashinfer_sparse.DeepseekV4FlashInferMLASparseBackend",
      .family = "model_driven",
      .description =
          "DeepSeek V4 layers on FlashInfer. Model-driven: the model's own attention layer names "
          "this class; it has no implementation class, so PCP and DCP come out false.",
      .package = "flashinfer",
      .class_name = "DeepseekV4FlashInferMLASparseBackend",
      .get_name = "FLASHINFER_MLA_SPARSE_DSV4",
      .dtypes = {"bfloat16"},
      .kv_cache_dtypes = {"auto", "bfloat16", "fp8", "fp8_e4m3", "fp8_ds_mla"},
      .kernel_block_sizes = KernelBlockSizes{fixed(256)},
      .head_sizes = HeadSizes{.listed = {512}},
      .capabilities = {{{10, 0}, {10, 99}}, {{12, 0}, {12, 99}}},
      .is_mla = true,
      .is_sparse = true,
      .supports_sink = true,
      .supports_kv_connector = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .supports_combination = flashinfer_dsv4_combination,
      .missing_imports = {kNoFlashAttn},
      .cudagraph = AttentionCGSupport::kAlways,
      .reorder_batch_threshold = {.class_value = {},
                                  .query_len_support = "",
                                  .in_constructor =
                                      "1; 1+speculative tokens when speculating; 1 under DCP"},
      .kv_page = kLatent,
      .decode_lse = std::nullopt,
      .notes =
          "The model's own layers build the cache description (several caches, some compressed); "
          "the fp8_ds_mla record is 584 bytes per stored state.",
  };
  return kRow;
}

namespace {

AttentionCGSupport rocm_dsv4_cudagraph(const SelectionQuestion& question, const CudagraphRun&) {
  return question.config.use_adaptive_verification ? AttentionCGSupport::kAlways
                                                   : AttentionCGSupport::kUniformBatch;
}

}  // namespace

const BackendFacts& rocm_flashmla_sparse_dsv4() {
  static const BackendFacts kRow = {
      .name = "ROCM_FLASHMLA_SPARSE_DSV4",
      .path = "vllm.models.deepseek_v4.amd.rocm.DeepseekV4ROCMAiterMLASparseBackend",
      .family = "model_driven",
      .description =
          "DeepSeek V4 layers on ROCm/AITER. Model-driven: the model's own attention layer names "
          "this class; it has no implementation class, so PCP and DCP come out false.",
      .package = "aiter",
      .class_name = "DeepseekV4ROCMAiterMLASparseBackend",
      .get_name = "ROCM_FLASHMLA_SPARSE_DSV4",
      .dtypes = {"bfloat16"},
      .kv_cache_dtypes = {"auto", "fp8_ds_mla", "fp8"},
      .kernel_block_sizes = KernelBlockSizes{fixed(256)},
      .head_sizes = HeadSizes{.listed = {512}},
      .capabilities = {{{9, 0}, {9, 99}}, {{10, 0}, {10, 99}}},
      .is_mla = true,
      .is_sparse = true,
      .supports_sink = true,
      .supports_kv_connector = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .missing_imports = {kNoFlashAttn},
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .cudagraph_rule = rocm_dsv4_cudagraph,
      .cudagraph_depends =
          "UNIFORM_BATCH; ALWAYS when adaptive verification is enabled in the speculative config.",
      .reorder_batch_threshold = {.class_value = {},
                                  .query_len_support = "",
                                  .in_constructor =
                                      "1; 1+speculative tokens when speculating; 1 under DCP"},
      .kv_page = kLatent,
      .decode_lse = std::nullopt,
      .notes =
          "The model's own layers build the cache description (several caches, some compressed); "
          "the fp8_ds_mla record is 584 bytes per stored state.",
  };
  return kRow;
}

const BackendFacts& flashmla_sparse_dsv41() {
  static const BackendFacts kRow = {
      .name = "FLASHMLA_SPARSE_DSV41",
      .path = "vllm.models.deepseek_v41.sparse_mla.DeepseekV4FlashMLABackend",
      .family = "model_driven",
      .description =
          "DeepSeek V4.1 layers on FlashMLA (class name shared with V4). Model-driven: the model's "
          "own attention layer names this class; it has no implementation class, so PCP and DCP "
          "come out false.",
      .package = "flash_mla",
      .class_name = "DeepseekV4FlashMLABackend",
      .get_name = "FLASHMLA_SPARSE_DSV41",
      .dtypes = {"bfloat16"},
      .kv_cache_dtypes = {"auto", "fp8_ds_mla", "fp8"},
      .kernel_block_sizes = dsv41_kernel_block_sizes,
      .head_sizes = HeadSizes{.listed = {512}},
      .capabilities = {{{9, 0}, {9, 99}}, {{10, 0}, {10, 99}}},
      .is_mla = true,
      .is_sparse = true,
      .supports_sink = true,
      .supports_kv_connector = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .missing_imports = {kNoFlashAttn},
      .cudagraph = AttentionCGSupport::kAlways,
      .reorder_batch_threshold = {.class_value = {},
                                  .query_len_support = "",
                                  .in_constructor =
                                      "1; 1+speculative tokens when speculating; 1 under DCP"},
      .kv_page = kLatent,
      .decode_lse = std::nullopt,
      .notes =
          "The model's own layers build the cache description (several caches, some compressed); "
          "the fp8_ds_mla record is 584 bytes per stored state.",
  };
  return kRow;
}

const BackendFacts& flashinfer_mla_sparse_dsv41() {
  static const BackendFacts kRow = {
      .name = "FLASHINFER_MLA_SPARSE_DSV41",
      .path =
          "vllm.models.deepseek_v41.nvidia.flashinfer_sparse.DeepseekV4FlashInferMLASparseBackend",
      .family = "model_driven",
      .description =
          "DeepSeek V4.1 layers on FlashInfer; its reason strings still say DSV4. Model-driven: "
          "the model's own attention layer names this class; it has no implementation class, so "
          "PCP and DCP come out false.",
      .package = "flashinfer",
      .class_name = "DeepseekV4FlashInferMLASparseBackend",
      .get_name = "FLASHINFER_MLA_SPARSE_DSV41",
      .dtypes = {"bfloat16"},
      .kv_cache_dtypes = {"auto", "bfloat16", "fp8", "fp8_e4m3", "fp8_ds_mla"},
      .kernel_block_sizes = KernelBlockSizes{fixed(128)},
      .head_sizes = HeadSizes{.listed = {512}},
      .capabilities = {{{10, 0}, {10, 99}}, {{12, 0}, {12, 99}}},
      .is_mla = true,
      .is_sparse = true,
      .supports_sink = true,
      .supports_kv_connector = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .supports_combination = flashinfer_dsv4_combination,
      .missing_imports = {kNoFlashAttn},
      .cudagraph = AttentionCGSupport::kAlways,
      .reorder_batch_threshold = {.class_value = {},
                                  .query_len_support = "",
                                  .in_constructor =
                                      "1; 1+speculative tokens when speculating; 1 under DCP"},
      .kv_page = kLatent,
      .decode_lse = std::nullopt,
      .notes =
          "The model's own layers build the cache description (several caches, some compressed); "
          "the fp8_ds_mla record is 584 bytes per stored state.",
  };
  return kRow;
}

const BackendFacts& flashmla_mega_attn_dsv41() {
  static const BackendFacts kRow = {
      .name = "FLASHMLA_MEGA_ATTN_DSV41",
      .path = "vllm.models.deepseek_v41.sparse_mla.FlashMLAMegaAttnBackend",
      .family = "model_driven",
      .description =
          "DeepSeek V4.1 on FlashMLA's fused rope+attention+cast kernel. Model-driven: the model's "
          "own attention layer names this class; it has no implementation class, so PCP and DCP "
          "come out false.",
      .package = "flash_mla",
      .class_name = "FlashMLAMegaAttnBackend",
      .get_name = "FLASHMLA_MEGA_ATTN_DSV41",
      .dtypes = {"bfloat16"},
      .kv_cache_dtypes = {"auto", "fp8_ds_mla", "fp8", "nvfp4_ds_mla"},
      .kernel_block_sizes = KernelBlockSizes{fixed(128)},
      .head_sizes = HeadSizes{.listed = {512}},
      .capabilities = {{{10, 0}, {10, 99}}},
      .is_mla = true,
      .is_sparse = true,
      .supports_sink = true,
      .supports_kv_connector = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .supports_combination = flashmla_mega_attn_dsv41_combination,
      .missing_imports = {kNoFlashAttn},
      .cudagraph = AttentionCGSupport::kAlways,
      .reorder_batch_threshold = {.class_value = {},
                                  .query_len_support = "",
                                  .in_constructor =
                                      "1; 1+speculative tokens when speculating; 1 under DCP"},
      .kv_page = kLatent,
      .decode_lse = std::nullopt,
      .notes =
          "The model's own layers build the cache description (several caches, some compressed); "
          "the fp8_ds_mla record is 584 bytes per stored state.",
  };
  return kRow;
}

}  // namespace pagelab::catalogue
