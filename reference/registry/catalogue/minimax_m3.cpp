// MiniMax M3: sparse over 128-token blocks without being latent.

#include "reference/registry/catalogue/rows.h"

namespace pagelab::catalogue {

const BackendFacts& minimax_m3_sparse() {
  static const BackendFacts kRow = {
      .name = "MINIMAX_M3_SPARSE",
      .path = "vllm.models.minimax_m3.common.sparse_attention.MiniMaxM3SparseBackend",
      .family = "model_driven",
      .description =
          "MiniMax M3 block-sparse GQA: an indexer picks 128-token blocks; the only backend that "
          "is sparse without being MLA (with its two aliases).",
      .package = "triton",
      .class_name = "MiniMaxM3SparseBackend",
      .get_name = "MINIMAX_M3_SPARSE",
      .dtypes = {"bfloat16", "float16"},
      .kv_cache_dtypes = {"bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2"},
      .kernel_block_sizes = KernelBlockSizes{fixed(128)},
      .head_sizes = HeadSizes{.listed = {128}},
      .is_sparse = true,
      .supports_kv_connector = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .missing_imports = {kNoFlashAttn},
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .reorder_batch_threshold = {.class_value = 1, .query_len_support = "", .in_constructor = ""},
      .kv_page = kKeysAndValues,
      .notes = "Layouts: None; with AITER's sparse PA and shuffled KV on ROCm: LBHNC, LHBNC.",
  };
  return kRow;
}

const BackendFacts& cutlass_msa() {
  static const BackendFacts kRow = {
      .name = "CUTLASS_MSA",
      .path = "vllm.models.minimax_m3.nvidia.sparse_attention_msa.MiniMaxM3SparseCutlassBackend",
      .family = "model_driven",
      .description =
          "Alias that picks CUTLASS sparse decode for MiniMax M3; as a config value it is turned "
          "into that setting and automatic selection.",
      .package = "fmha_sm100",
      .class_name = "MiniMaxM3SparseCutlassBackend",
      .get_name = "CUTLASS_MSA",
      .dtypes = {"bfloat16", "float16"},
      .kv_cache_dtypes = {"bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2"},
      .kernel_block_sizes = KernelBlockSizes{fixed(128)},
      .head_sizes = HeadSizes{.listed = {128}},
      .is_sparse = true,
      .supports_kv_connector = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .missing_imports = {kNoFlashAttn},
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .reorder_batch_threshold = {.class_value = 1, .query_len_support = "", .in_constructor = ""},
      .kv_page = kKeysAndValues,
  };
  return kRow;
}

const BackendFacts& triton_msa() {
  static const BackendFacts kRow = {
      .name = "TRITON_MSA",
      .path = "vllm.models.minimax_m3.nvidia.sparse_attention_msa.MiniMaxM3SparseTritonBackend",
      .family = "model_driven",
      .description =
          "Alias that picks Triton sparse decode for MiniMax M3; handled like CUTLASS_MSA.",
      .package = "triton",
      .class_name = "MiniMaxM3SparseTritonBackend",
      .get_name = "TRITON_MSA",
      .dtypes = {"bfloat16", "float16"},
      .kv_cache_dtypes = {"bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2"},
      .kernel_block_sizes = KernelBlockSizes{fixed(128)},
      .head_sizes = HeadSizes{.listed = {128}},
      .is_sparse = true,
      .supports_kv_connector = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .missing_imports = {kNoFlashAttn},
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .reorder_batch_threshold = {.class_value = 1, .query_len_support = "", .in_constructor = ""},
      .kv_page = kKeysAndValues,
  };
  return kRow;
}

}  // namespace pagelab::catalogue
