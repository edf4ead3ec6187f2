// Latent attention over the keys that an indexer chooses.

#include "reference/registry/catalogue/rows.h"

#include "reference/registry/flash_attn_version.h"
#include "reference/registry/python_text.h"

namespace pagelab::catalogue {
namespace {

// Differs: vLLM reads these three of a model without asking whether it has them, and stops with an
// AttributeError where it does not. Here a missing one is None, and so a reason.
std::optional<std::string> flashinfer_mla_sparse_shape_reason(const ModelConfig& model) {
  const std::string nope = python_number(model.qk_nope_head_dim);
  if (model.qk_rope_head_dim == 0) {
    if (model.qk_nope_head_dim == 256 && model.kv_lora_rank == 512) return std::nullopt;
    return "FlashInfer native no-rope MLA requires qk_nope_head_dim=256 and kv_lora_rank=512, but "
           "got qk_nope_head_dim=" +
           nope + ", kv_lora_rank=" + python_number(model.kv_lora_rank);
  }
  if (model.qk_nope_head_dim == 128 || model.qk_nope_head_dim == 192) return std::nullopt;
  return "FlashInfer MLA Sparse kernel requires qk_nope_head_dim in [128, 192], but got " + nope;
}

std::optional<std::string> flashinfer_mla_sparse_combination(const SelectionQuestion& question) {
  if (question.config.use_pcp && question.config.use_dcp) {
    return "FLASHINFER_MLA_SPARSE does not support combined PCP+DCP; use FLASHMLA_SPARSE, which "
           "gathers each DCP KV shard before running the rank-local PCP prefill queries";
  }
  if (question.config.kv_cache_dtype == "fp8_ds_mla") {
    return "FLASHINFER_MLA_SPARSE SM10 does not support fp8_ds_mla kv-cache dtype";
  }
  if (!question.model) return std::nullopt;
  if (const auto reason = flashinfer_mla_sparse_shape_reason(*question.model)) return reason;
  if (!question.model->index_topk) {
    return "FlashInfer MLA Sparse requires model with index_topk config";
  }
  return std::nullopt;
}

// Two of its reasons are also generic ones, and may so stand in a list twice.
std::optional<std::string> flashinfer_mla_sparse_sm120_combination(
    const SelectionQuestion& question) {
  const std::string kv_cache_dtype = question.config.kv_cache_dtype.value_or("auto");
  if (!question.environment.flashinfer_sm120_sparse) {
    return "FLASHINFER_MLA_SPARSE_SM120 requires FlashInfer's sparse MLA decode API";
  }
  if (question.config.dtype != "bfloat16") return "dtype not supported";
  if (!lists_kv_cache_dtype(flashinfer_mla_sparse_sm120(), kv_cache_dtype)) {
    return "kv_cache_dtype not supported";
  }
  if (!question.model) return std::nullopt;
  const std::optional<std::int64_t> index_topk = question.model->index_topk;
  if (!index_topk) {
    return "FLASHINFER_MLA_SPARSE_SM120 requires a model with index_topk config";
  }
  if (index_topk != 2048) {
    return "FLASHINFER_MLA_SPARSE_SM120 requires index_topk=2048; got " + python_number(index_topk);
  }
  return std::nullopt;
}

std::optional<std::string> flashinfer_mla_sparse_sm90_combination(
    const SelectionQuestion& question) {
  if (!question.environment.flashinfer_sm90_mla) {
    return "FLASHINFER_MLA_SPARSE_SM90 requires FlashInfer with SM90 MLA support (ckv_scale_arr in "
           "BatchMLAPagedAttentionWrapper.run, FlashInfer >= 0.6.18)";
  }
  if (!question.config.use_sparse) return "FLASHINFER_MLA_SPARSE_SM90 requires sparse MLA";
  if (!question.model) return std::nullopt;
  const std::optional<std::int64_t> rope = question.model->qk_rope_head_dim;
  if (question.model->kv_lora_rank != 512) {
    return "FLASHINFER_MLA_SPARSE_SM90 requires kv_lora_rank=512";
  }
  if (rope != 0 && rope != 64) {
    return "FLASHINFER_MLA_SPARSE_SM90 requires qk_rope_head_dim in (0, 64)";
  }
  return std::nullopt;
}

// Heads of 512 are those of models without RoPE, and only Hopper's kernels take them.
std::optional<std::string> head_512_reason(const SelectionQuestion& question) {
  const std::string kv_cache_dtype = question.config.kv_cache_dtype.value_or("auto");
  const bool readable = kv_cache_dtype == "auto" || kv_cache_dtype == "bfloat16" ||
                        kv_cache_dtype == "float16" || kv_cache_dtype == "fp8_ds_mla";
  const DeviceCapability capability = question.capability;
  if (!readable || capability.major != 9) {
    return "FLASHMLA_SPARSE supports head_size 512 only with bf16 or fp8_ds_mla kv-cache on SM90 "
           "(NoPE), got kv_cache_dtype=" +
           question.config.kv_cache_dtype.value_or("None") +
           ", capability=DeviceCapability(major=" + std::to_string(capability.major) +
           ", minor=" + std::to_string(capability.minor) + ")";
  }
  if (question.model && question.model->qk_rope_head_dim.value_or(64) != 0) {
    return "FLASHMLA_SPARSE supports head_size 512 only for rope-free (NoPE) models";
  }
  return std::nullopt;
}

std::optional<std::string> flashmla_sparse_combination(const SelectionQuestion& question) {
  if (question.config.head_size == 512) {
    if (const auto reason = head_512_reason(question)) return reason;
  }
  if (question.config.kv_cache_dtype == "nvfp4_ds_mla" && question.capability.major != 10) {
    return "FLASHMLA_SPARSE only supports the nvfp4_ds_mla kv-cache dtype on SM100 (Blackwell)";
  }
  return std::nullopt;
}

std::optional<std::string> flash_attn_mla_sparse_combination(const SelectionQuestion& question) {
  const std::string kv_cache_dtype = question.config.kv_cache_dtype.value_or("auto");
  if (!lists_kv_cache_dtype(flash_attn_mla_sparse(), kv_cache_dtype)) {
    return "FlashAttention MLA Sparse currently supports only FP16/BF16 KV cache";
  }
  if (!flash_attn_supports_mla(question)) return "FlashAttention MLA not supported on this device";
  if (!question.model) return std::nullopt;
  if (question.config.use_dcp) return "FlashAttention MLA Sparse does not support DCP for now";
  if (!question.model->index_topk) {
    return "FlashAttention MLA Sparse requires model with index_topk";
  }
  return std::nullopt;
}

}  // namespace

const BackendFacts& flashinfer_mla_sparse() {
  static const BackendFacts kRow = {
      .name = "FLASHINFER_MLA_SPARSE",
      .path =
          "vllm.v1.attention.backends.mla.flashinfer_mla_sparse.FlashInferMLASparseTRTLLMBackend",
      .family = "sparse_mla",
      .description = "FlashInfer sparse MLA on Blackwell (TRT-LLM launcher).",
      .package = "flashinfer",
      .class_name = "FlashInferMLASparseTRTLLMBackend",
      .get_name = "FLASHINFER_MLA_SPARSE",
      .kv_cache_dtypes = {"auto", "float16", "bfloat16", "fp8", "fp8_e4m3"},
      .kernel_block_sizes = KernelBlockSizes{multiple_of(32)},
      .head_sizes = HeadSizes{.listed = {512, 576}},
      .capabilities = {{{10, 0}, {10, 99}}},
      .is_mla = true,
      .is_sparse = true,
      .supports_kv_connector = true,
      .supports_pcp = true,
      .supports_dcp = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .supports_combination = flashinfer_mla_sparse_combination,
      .missing_imports = {kNoFlashAttn},
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .reorder_batch_threshold =
          {.class_value = {},
           .query_len_support = "",
           .in_constructor =
               "By query heads per rank: 8,16,32 -> 128; 64 -> 256; 128 and anything else -> 1024; "
               "raised for speculative tokens; keeps its value under DCP."},
      .kv_page = kLatent,
      .block_stride_multiple = 32,
      .decode_lse = DecodeLse{.returned = true, .natural_log = false},
      .notes =
          "The PCP+DCP rule reads the parallel sizes of the current run; in the tables those "
          "follow use_pcp/use_dcp. The class reads qk_nope_head_dim, qk_rope_head_dim and "
          "kv_lora_rank without a default, so a model config lacking them raises AttributeError "
          "instead of giving a reason.",
  };
  return kRow;
}

const BackendFacts& flashinfer_mla_sparse_sm120() {
  static const BackendFacts kRow = {
      .name = "FLASHINFER_MLA_SPARSE_SM120",
      .path =
          "vllm.v1.attention.backends.mla.flashinfer_mla_sparse.FlashInferMLASparseSM120Backend",
      .family = "sparse_mla",
      .description = "FlashInfer sparse MLA on consumer Blackwell.",
      .package = "flashinfer",
      .class_name = "FlashInferMLASparseSM120Backend",
      .get_name = "FLASHINFER_MLA_SPARSE_SM120",
      .dtypes = {"bfloat16"},
      .kv_cache_dtypes = {"auto", "fp8", "fp8_e4m3", "fp8_ds_mla"},
      .kernel_block_sizes = KernelBlockSizes{multiple_of(64)},
      .head_sizes = HeadSizes{.listed = {512, 576}},
      .capabilities = {{{12, 0}, {12, 99}}},
      .is_mla = true,
      .is_sparse = true,
      .supports_kv_connector = true,
      .supports_pcp = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .supports_combination = flashinfer_mla_sparse_sm120_combination,
      .missing_imports = {kNoFlashAttn},
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .reorder_batch_threshold = {.class_value = {},
                                  .query_len_support = "",
                                  .in_constructor = "As FLASHINFER_MLA_SPARSE."},
      .kv_page = kLatent,
      .quantised_page =
          "fp8_ds_mla (auto, fp8 and fp8_e4m3 are renamed to it after selection): C is 656 bytes "
          "per token",
      .block_stride_multiple = 64,
      .notes =
          "Its second and third rules repeat two generic reason strings, so those can appear twice "
          "in one list.",
  };
  return kRow;
}

const BackendFacts& flashinfer_mla_sparse_sm90() {
  static const BackendFacts kRow = {
      .name = "FLASHINFER_MLA_SPARSE_SM90",
      .path =
          "vllm.v1.attention.backends.mla.flashinfer_mla_sparse_sm90."
          "FlashInferMLASparseSM90Backend",
      .family = "sparse_mla",
      .description = "FlashInfer sparse MLA on Hopper with in-kernel fp8 dequantisation.",
      .package = "flashinfer",
      .class_name = "FlashInferMLASparseSM90Backend",
      .get_name = "FLASHINFER_MLA_SPARSE_SM90",
      .dtypes = {"bfloat16"},
      .kv_cache_dtypes = {"auto", "bfloat16", "fp8", "fp8_e4m3"},
      .kernel_block_sizes = KernelBlockSizes{multiple_of(64)},
      .head_sizes = HeadSizes{.listed = {512, 576}},
      .capabilities = {{{9, 0}, {9, 99}}},
      .is_mla = true,
      .is_sparse = true,
      .supports_kv_connector = true,
      .supports_pcp = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .supports_combination = flashinfer_mla_sparse_sm90_combination,
      .missing_imports = {kNoFlashAttn},
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .reorder_batch_threshold = {.class_value = {},
                                  .query_len_support = "",
                                  .in_constructor = "As FLASHINFER_MLA_SPARSE."},
      .kv_page = kLatent,
      .block_stride_multiple = 1,
  };
  return kRow;
}

const BackendFacts& flashmla_sparse() {
  static const BackendFacts kRow = {
      .name = "FLASHMLA_SPARSE",
      .path = "vllm.v1.attention.backends.mla.flashmla_sparse.FlashMLASparseBackend",
      .family = "sparse_mla",
      .description = "DeepSeek's FlashMLA sparse decode and prefill for V3.2-style indexers.",
      .package = "flash_mla",
      .class_name = "FlashMLASparseBackend",
      .get_name = "FLASHMLA_SPARSE",
      .dtypes = {"bfloat16"},
      .kv_cache_dtypes = {"auto", "bfloat16", "fp8_ds_mla", "fp8", "nvfp4_ds_mla"},
      .kernel_block_sizes = KernelBlockSizes{multiple_of(64)},
      .head_sizes = HeadSizes{.listed = {512, 576}},
      .capabilities = {{{9, 0}, {9, 99}}, {{10, 0}, {10, 99}}},
      .is_mla = true,
      .is_sparse = true,
      .supports_kv_connector = true,
      .supports_pcp = true,
      .supports_dcp = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .supports_combination = flashmla_sparse_combination,
      .missing_imports = {kNoFlashAttn},
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .reorder_batch_threshold =
          {.class_value = {},
           .query_len_support = "",
           .in_constructor =
               "By query heads per rank. 10.x: 8,16,32 -> 128; 64 -> 256; 128/other -> 1024. "
               "Elsewhere: 16,32 -> 128; 64,128/other -> 256. 1 when HiSparse is on. Raised for "
               "speculative tokens; 1 under DCP unless the interleave size is 1."},
      .kv_page = kLatent,
      .quantised_page =
          "fp8_ds_mla (and fp8, renamed to it after selection): C is 656 bytes per token; "
          "nvfp4_ds_mla: C is 352 bytes per token",
      .block_stride_multiple = 1,
      .decode_lse = DecodeLse{.returned = true, .natural_log = true},
      .notes =
          "With a quantised KV spec on 10.x the kernel list is the fixed 64; selection never "
          "passes a spec, so it sees multiples of 64.",
  };
  return kRow;
}

const BackendFacts& flash_attn_mla_sparse() {
  static const BackendFacts kRow = {
      .name = "FLASH_ATTN_MLA_SPARSE",
      .path = "vllm.v1.attention.backends.mla.flashattn_mla_sparse.FlashAttnMLASparseBackend",
      .family = "sparse_mla",
      .description = "FlashAttention 3 over indexer-chosen rows on Hopper.",
      .package = "vllm_flash_attn",
      .class_name = "FlashAttnMLASparseBackend",
      .get_name = "FLASH_ATTN_MLA_SPARSE",
      .kernel_block_sizes = KernelBlockSizes{multiple_of(64)},
      .capabilities = {{{9, 0}, {9, 99}}},
      .is_mla = true,
      .is_sparse = true,
      .supports_kv_connector = true,
      .supports_pcp = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .supports_combination = flash_attn_mla_sparse_combination,
      .missing_imports = {kNoFlashAttn},
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .reorder_batch_threshold = {.class_value = {},
                                  .query_len_support = "",
                                  .in_constructor =
                                      "By query heads per rank: 16,32 -> 128; 64,128/other -> 256; "
                                      "raised for speculative tokens; 1 under DCP."},
      .kv_page = kLatent,
      .block_stride_multiple = 1,
  };
  return kRow;
}

}  // namespace pagelab::catalogue
