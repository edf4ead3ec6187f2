// Third-party kernels for one kind of GPU, never chosen automatically.

#include "reference/registry/catalogue/rows.h"

#include "reference/registry/kv_cache_dtypes.h"

namespace pagelab::catalogue {
namespace {

std::optional<std::string> b12x_combination(const SelectionQuestion& question) {
  const AttentionSelectorConfig& config = question.config;
  const std::optional<std::string>& kv_cache_dtype = config.kv_cache_dtype;
  if (config.dtype != "bfloat16") return "b12x currently requires bfloat16 queries";
  if (kv_cache_dtype == "float16") return "b12x does not support float16 KV cache";
  if (is_quantized_kv_cache(kv_cache_dtype) && kv_cache_dtype != "fp8" &&
      kv_cache_dtype != "fp8_e4m3") {
    return "b12x currently supports only fp8/fp8_e4m3 quantized KV cache dtypes";
  }
  switch (question.environment.b12x) {
    case B12xState::kAbsent:
      return "Install the b12x backend with `pip install vllm[b12x]`";
    case B12xState::kUnsupportedDevice:
      return "b12x paged attention is not supported on the current device";
    case B12xState::kSupported:
      break;
  }
  return std::nullopt;
}

}  // namespace

const BackendFacts& b12x() {
  static const BackendFacts kRow = {
      .name = "B12X",
      .path = "vllm.v1.attention.backends.b12x.B12xPagedAttentionBackend",
      .family = "ordinary",
      .description =
          "Optional third-party paged GQA kernels for SM120/121; never in an automatic list.",
      .package = "b12x",
      .class_name = "B12xPagedAttentionBackend",
      .get_name = "B12X",
      .dtypes = {"bfloat16"},
      .kv_cache_dtypes = {"auto", "bfloat16", "fp8", "fp8_e4m3"},
      .kernel_block_sizes = KernelBlockSizes{fixed(64), fixed(128)},
      .exact_block_size = true,
      .fallback_block_size = 128,
      .head_sizes = HeadSizes{.listed = {64, 128, 192, 256}},
      .capabilities = {{{12, 0}, {12, 0}}, {{12, 1}, {12, 1}}},
      .supports_sink = true,
      .supports_sliding_window = true,
      .supports_kv_connector = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .supports_combination = b12x_combination,
      .cudagraph = AttentionCGSupport::kUniformBatch,
      .kv_page = kTwoHeadGroups,
      .kv_cache_layouts = {"LBHNC", "BLHNC"},
      .forward_includes_kv_cache_update = false,
  };
  return kRow;
}

namespace {

AttentionCGSupport hpc_attn_cudagraph(const SelectionQuestion&, const CudagraphRun& run) {
  return run.num_speculative_tokens > 0 ? AttentionCGSupport::kUniformBatch
                                        : AttentionCGSupport::kUniformSingleTokenDecode;
}

}  // namespace

const BackendFacts& hpc_attn() {
  static const BackendFacts kRow = {
      .name = "HPC_ATTN",
      .path = "vllm.v1.attention.backends.hpc_attn.HpcAttentionBackend",
      .family = "ordinary",
      .description =
          "Tencent hpc-ops kernels for one model family on Hopper; never in an automatic list.",
      .package = "hpc",
      .class_name = "HpcAttentionBackend",
      .get_name = "HPC_ATTN",
      .kv_cache_dtypes = {"auto", "bfloat16", "fp8_e4m3"},
      .kernel_block_sizes = KernelBlockSizes{fixed(64)},
      .head_sizes = HeadSizes{.listed = {128}},
      .capabilities = {{{9, 0}, {9, 0}}},
      .supports_kv_connector = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .cudagraph = AttentionCGSupport::kUniformSingleTokenDecode,
      .cudagraph_rule = hpc_attn_cudagraph,
      .cudagraph_depends =
          "UNIFORM_BATCH when speculative tokens are configured, else UNIFORM_SINGLE_TOKEN_DECODE.",
      .reorder_batch_threshold = {.class_value = 1, .query_len_support = "", .in_constructor = ""},
      .kv_page = kKeysAndValues,
      .kv_cache_layouts = {"LBNHC"},
  };
  return kRow;
}

}  // namespace pagelab::catalogue
