// FlashAttention, versions 2, 3 and 4, for ordinary layers.

#include "reference/registry/catalogue/rows.h"

#include "reference/registry/flash_attn_version.h"
#include "reference/registry/kv_cache_dtypes.h"

namespace pagelab::catalogue {
namespace {

bool is_flash_attn_3_or_4(const SelectionQuestion& question) {
  const std::optional<int> version = flash_attn_version(question);
  return version == 3 || version == 4;
}

bool has_flash_attn_4(const SelectionQuestion& question) {
  return is_flash_attn_version_supported(question, 4);
}

HeadSizes flash_attn_head_sizes(const SelectionQuestion& question) {
  return {
      .listed = {}, .least = 0, .most = has_flash_attn_4(question) ? 512 : 256, .multiple_of = 8};
}

bool flash_attn_accepts_kv_cache_dtype(const BackendFacts& facts,
                                       const SelectionQuestion& question) {
  const std::optional<std::string>& kv_cache_dtype = question.config.kv_cache_dtype;
  if (!lists_kv_cache_dtype(facts, *kv_cache_dtype)) return false;
  return !is_quantized_kv_cache(kv_cache_dtype) || flash_attn_reads_quantized_cache(question);
}

// Version 4 reads an fp8 cache of 512-wide heads on Hopper in blocks of 64.
bool needs_blocks_of_64(const SelectionQuestion& question) {
  const std::optional<std::string>& kv_cache_dtype = question.config.kv_cache_dtype;
  return question.model && question.capability.major == 9 &&
         (kv_cache_dtype == "fp8" || kv_cache_dtype == "fp8_e4m3") &&
         question.model->head_size == 512 && flash_attn_version(question, {.head_size = 512}) == 4;
}

// Its kernel for 256-wide heads on Blackwell reads blocks of 128.
bool needs_blocks_of_128(const SelectionQuestion& question) {
  const int major = question.capability.major;
  return question.model && question.model->head_size == 256 && (major == 10 || major == 11) &&
         flash_attn_version(question, {.head_size = 256, .supports_fa4_hd256 = true}) == 4;
}

KernelBlockSizes flash_attn_kernel_block_sizes(const SelectionQuestion& question) {
  if (needs_blocks_of_64(question)) return {fixed(64)};
  if (needs_blocks_of_128(question)) return {fixed(128)};
  return {multiple_of(16)};
}

// The value head is 128 wide here, so the 256-wide kernel is never the one.
KernelBlockSizes flash_attn_diffkv_kernel_block_sizes(const SelectionQuestion& question) {
  if (needs_blocks_of_64(question)) return {fixed(64)};
  return {multiple_of(16)};
}

AttentionCGSupport flash_attn_cudagraph_support(const SelectionQuestion& question) {
  return flash_attn_version(question) == 3 ? AttentionCGSupport::kAlways
                                           : AttentionCGSupport::kUniformBatch;
}

std::optional<std::string> flash_attn_combination(const SelectionQuestion& question) {
  return flash_attn_reason(question, question.config.use_mm_prefix);
}

// The layer as the record describes it; keys and values are as wide.
FlashAttnLayer layer_of_record(const SelectionQuestion& question) {
  const AttentionSelectorConfig& config = question.config;
  return {.head_size = config.head_size,
          .head_size_v = {},
          .has_sinks = config.has_sink,
          .kv_cache_block_size = config.block_size,
          .supports_fa4_hd256 = true};
}

}  // namespace

std::optional<int> flash_attn_version_of_record(const SelectionQuestion& question) {
  return flash_attn_version(question, layer_of_record(question));
}

std::optional<std::string> flash_attn_reason(const SelectionQuestion& question,
                                             bool use_mm_prefix) {
  const AttentionSelectorConfig& config = question.config;
  const bool quantized = is_quantized_kv_cache(config.kv_cache_dtype);
  if (config.has_sink && question.capability < DeviceCapability{9, 0}) {
    return "sink not supported on compute capability < 9.0";
  }
  if (use_mm_prefix && quantized && question.capability == DeviceCapability{9, 0}) {
    return "SM90 FP8 KV with mm_prefix requires Triton";
  }
  FlashAttnLayer layer = layer_of_record(question);
  layer.head_size_v = config.head_size;
  if (quantized && !flash_attn_reads_quantized_cache(question, layer)) {
    return "FP8 KV cache requires FA3 on SM90, FA4 with head_size=512 on SM90, or FA4 on SM100";
  }
  if (use_mm_prefix && flash_attn_version_of_record(question) != 4) {
    return "mm_prefix (PrefixLM bidirectional attention) requires FlashAttention v4, which does "
           "not resolve for this head_size";
  }
  return std::nullopt;
}

const BackendFacts& flash_attn() {
  static const BackendFacts kRow = {
      .name = "FLASH_ATTN",
      .path = "vllm.v1.attention.backends.flash_attn.FlashAttentionBackend",
      .family = "ordinary",
      .description =
          "vLLM's own build of FlashAttention 2/3/4; the version is resolved from the capability "
          "and decides sinks, fp8 KV, prefix masks and the largest head.",
      .package = "vllm_flash_attn",
      .class_name = "FlashAttentionBackend",
      .get_name = "FLASH_ATTN",
      .kv_cache_dtypes = {"auto", "float16", "bfloat16", "fp8", "fp8_e4m3"},
      .kv_cache_dtype_rule = flash_attn_accepts_kv_cache_dtype,
      .kernel_block_sizes = flash_attn_kernel_block_sizes,
      .head_sizes = flash_attn_head_sizes,
      .capabilities = {{{8, 0}, {99, 99}}},
      .supports_sink = is_flash_attn_3_or_4,
      .supports_mm_prefix = has_flash_attn_4,
      .supports_per_head_quant_scales = is_flash_attn_3_or_4,
      .supports_sliding_window = true,
      .supports_rswa = true,
      .supports_non_causal = true,
      .supports_batch_invariance = true,
      .supports_kv_connector = true,
      .supports_dcp = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .attn_types = {AttentionType::kDecoder, AttentionType::kEncoder, AttentionType::kEncoderOnly,
                     AttentionType::kEncoderDecoder},
      .supports_combination = flash_attn_combination,
      .missing_imports = {kNoFlashAttn},
      .cudagraph = flash_attn_cudagraph_support,
      .cudagraph_depends =
          "ALWAYS when the resolved FlashAttention version (default arguments) was 3 at the moment "
          "the module was imported, else UNIFORM_BATCH; so ALWAYS on 9.x and UNIFORM_BATCH "
          "elsewhere.",
      .kv_page = kKeysAndValues,
      .forward_includes_kv_cache_update = false,
      .decode_lse = DecodeLse{.returned = true, .natural_log = true},
  };
  return kRow;
}

const BackendFacts& flash_attn_diffkv() {
  static const BackendFacts kRow = {
      .name = "FLASH_ATTN_DIFFKV",
      .path = "vllm.v1.attention.backends.flash_attn_diffkv.FlashAttentionDiffKVBackend",
      .family = "ordinary",
      .description =
          "FlashAttention for layers whose value head is narrower or wider than the key head; K "
          "and V share one row of head_size+head_size_v.",
      .package = "vllm_flash_attn",
      .class_name = "FlashAttentionDiffKVBackend",
      .get_name = "FLASH_ATTN_DIFFKV",
      .kv_cache_dtypes = {"auto", "float16", "bfloat16", "fp8", "fp8_e4m3"},
      .kv_cache_dtype_rule = flash_attn_accepts_kv_cache_dtype,
      .kernel_block_sizes = flash_attn_diffkv_kernel_block_sizes,
      .head_sizes = flash_attn_head_sizes,
      .capabilities = {{{8, 0}, {99, 99}}},
      .supports_sink = is_flash_attn_3_or_4,
      .supports_mm_prefix = has_flash_attn_4,
      .supports_per_head_quant_scales = is_flash_attn_3_or_4,
      .supports_sliding_window = true,
      .supports_rswa = true,
      .supports_non_causal = true,
      .supports_batch_invariance = true,
      .supports_kv_connector = true,
      .supports_dcp = true,
      .supports_device_cpu_query_lens_mismatch = true,
      .attn_types = {AttentionType::kDecoder, AttentionType::kEncoder, AttentionType::kEncoderOnly,
                     AttentionType::kEncoderDecoder},
      .supports_combination = flash_attn_combination,
      .missing_imports = {kNoFlashAttn},
      .cudagraph = flash_attn_cudagraph_support,
      .cudagraph_depends = "As FLASH_ATTN (same metadata builder).",
      .kv_page = kKeysAndOtherValues,
      .forward_includes_kv_cache_update = false,
      .decode_lse = DecodeLse{.returned = true, .natural_log = true},
      .head_size_v_default = 128,
  };
  return kRow;
}

}  // namespace pagelab::catalogue
