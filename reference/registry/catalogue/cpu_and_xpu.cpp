// CPUs and Intel's GPUs. Nothing stops a CUDA platform from asking these classes, too.

#include "reference/registry/catalogue/rows.h"

namespace pagelab::catalogue {

const BackendFacts& xpu_mla_sparse() {
  static const BackendFacts kRow = {
      .name = "XPU_MLA_SPARSE",
      .path = "vllm.v1.attention.backends.mla.xpu_mla_sparse.XPUMLASparseBackend",
      .family = "xpu",
      .description = "Sparse MLA for Intel XPU; prefill and decode both run as top-k queries.",
      .package = "vllm_xpu_kernels",
      .class_name = "XPUMLASparseBackend",
      .get_name = "XPU_MLA_SPARSE",
      .head_sizes = HeadSizes{.listed = {576}},
      .is_mla = true,
      .is_sparse = true,
      .supports_kv_connector = true,
      .supports_pcp = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .missing_imports = {kNoFlashAttn},
      .cudagraph = AttentionCGSupport::kNever,
      .kv_page = kLatent,
      .block_stride_multiple = 1,
  };
  return kRow;
}

const BackendFacts& cpu_attn() {
  static const BackendFacts kRow = {
      .name = "CPU_ATTN",
      .path = "vllm.v1.attention.backends.cpu_attn.CPUAttentionBackend",
      .family = "cpu",
      .description = "vLLM's CPU paged attention.",
      .package = "vllm._C",
      .class_name = "CPUAttentionBackend",
      .get_name = "CPU_ATTN",
      .dtypes = {"float16", "bfloat16", "float32"},
      .kv_cache_dtypes = {"auto", "fp8", "fp8_e4m3", "fp8_e5m2"},
      .kernel_block_sizes = KernelBlockSizes{multiple_of(32)},
      .head_sizes = HeadSizes{.listed = {32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512}},
      .supports_sliding_window = true,
      .supports_non_causal = true,
      .supports_kv_connector = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .attn_types = {AttentionType::kDecoder, AttentionType::kEncoder, AttentionType::kEncoderOnly,
                     AttentionType::kEncoderDecoder},
      .missing_imports = {kNoFlashAttn},
      .cudagraph = AttentionCGSupport::kNever,
      .kv_page = kKeysAndValues,
      .kv_cache_layouts = {"LBHNC"},
      .forward_includes_kv_cache_update = false,
  };
  return kRow;
}

const BackendFacts& cpu_mla() {
  static const BackendFacts kRow = {
      .name = "CPU_MLA",
      .path = "vllm.v1.attention.backends.mla.cpu_mla.CPUMLABackend",
      .family = "cpu_mla",
      .description = "Reference MLA for CPUs.",
      .package = "vllm._C",
      .class_name = "CPUMLABackend",
      .get_name = "CPU_MLA",
      .dtypes = {"float16", "bfloat16", "float32"},
      .kv_cache_dtypes = {"auto"},
      .kernel_block_sizes = KernelBlockSizes{fixed(16)},
      .exact_block_size = true,
      .head_sizes = HeadSizes{.listed = {576}},
      .is_mla = true,
      .supports_kv_connector = true,
      .supports_pcp = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .cudagraph = AttentionCGSupport::kNever,
      .reorder_batch_threshold = {.class_value = 1,
                                  .query_len_support = "SINGLE_ONLY",
                                  .in_constructor = ""},
      .kv_page = kLatent,
  };
  return kRow;
}

const BackendFacts& amx_mla() {
  static const BackendFacts kRow = {
      .name = "AMX_MLA",
      .path = "vllm.v1.attention.backends.mla.amx_mla.AMXMLABackend",
      .family = "cpu_mla",
      .description = "MLA on x86 CPUs with AMX tiles.",
      .package = "vllm._C",
      .class_name = "AMXMLABackend",
      .get_name = "AMX_MLA",
      .dtypes = {"bfloat16"},
      .kernel_block_sizes = KernelBlockSizes{multiple_of(32)},
      .head_sizes = HeadSizes{.listed = {576}},
      .is_mla = true,
      .supports_kv_connector = true,
      .supports_pcp = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .cudagraph = AttentionCGSupport::kNever,
      .reorder_batch_threshold = {.class_value = 1,
                                  .query_len_support = "SINGLE_ONLY",
                                  .in_constructor = ""},
      .kv_page = kLatent,
  };
  return kRow;
}

}  // namespace pagelab::catalogue
