// FlashInfer for ordinary layers, with the TRT-LLM kernels that it brings along.

#include "reference/registry/catalogue/rows.h"

namespace pagelab::catalogue {
namespace {

// FlashInfer brings TRT-LLM's kernels along: both phases on 10.x, on 9.0 and 12.x the decode alone.
bool has_trtllm_decode(const SelectionQuestion& question) {
  if (question.config.use_batch_invariant || !question.environment.trtllm_available) return false;
  const DeviceCapability capability = question.capability;
  return capability == DeviceCapability{9, 0} || capability.major == 10 || capability.major == 12;
}

bool has_trtllm_prefill(const SelectionQuestion& question) {
  return question.capability.major == 10 && has_trtllm_decode(question);
}

bool has_kv_heads(const ModelConfig& model) { return model.num_kv_heads > 0; }

bool query_heads_divide(const ModelConfig& model) {
  return has_kv_heads(model) && model.num_heads % model.num_kv_heads == 0;
}

bool flashinfer_supports_sink(const SelectionQuestion& question) {
  if (question.environment.use_trtllm_attention == false) return false;
  if (question.capability.major == 10) {
    return has_trtllm_decode(question) && has_trtllm_prefill(question);
  }
  return has_trtllm_decode(question);
}

bool flashinfer_supports_query_lens_mismatch(const SelectionQuestion& question) {
  if (question.capability.major != 10) return false;
  if (!question.model) return true;
  const ModelConfig& model = *question.model;
  return !question.config.use_dcp && question.environment.use_trtllm_attention != false &&
         has_trtllm_decode(question) && query_heads_divide(model);
}

// An NVFP4 cache is read by TRT-LLM's kernels on 10.x and by FlashInfer's own elsewhere.
bool flashinfer_accepts_kv_cache_dtype(const BackendFacts& facts,
                                       const SelectionQuestion& question) {
  const std::string& kv_cache_dtype = *question.config.kv_cache_dtype;
  if (!kv_cache_dtype.starts_with("nvfp4")) return lists_kv_cache_dtype(facts, kv_cache_dtype);
  const int major = question.capability.major;
  if (major == 8 || major == 9 || major == 12) return kv_cache_dtype == "nvfp4";
  return major == 10 && has_trtllm_decode(question) && has_trtllm_prefill(question);
}

// TRT-LLM's decode also reads longer blocks, where query heads share a KV head.
KernelBlockSizes flashinfer_kernel_block_sizes(const SelectionQuestion& question) {
  const bool shares_kv_heads = question.model && has_kv_heads(*question.model) &&
                               question.model->num_heads / question.model->num_kv_heads > 1;
  if (question.capability.major == 10 && shares_kv_heads && has_trtllm_decode(question)) {
    return {fixed(16), fixed(32), fixed(64), fixed(128), fixed(256), fixed(512), fixed(1024)};
  }
  return {fixed(16), fixed(32), fixed(64)};
}

// Whether TRT-LLM's decode kernel serves a model's layers. Off major 10 it is another kernel, which is choosier.
bool uses_trtllm_decode(const SelectionQuestion& question) {
  if (question.environment.use_trtllm_attention == false || !has_trtllm_decode(question))
    return false;
  if (!question.model || !query_heads_divide(*question.model)) return false;
  const int major = question.capability.major;
  if (major == 10) return true;
  const std::int64_t head_size = question.config.head_size;
  const bool is_nvfp4 =
      question.config.kv_cache_dtype && question.config.kv_cache_dtype->starts_with("nvfp4");
  return head_size >= 16 && head_size <= 256 && head_size % 16 == 0 && (!is_nvfp4 || major == 12);
}

// Decodes of several tokens are recorded with TRT-LLM's kernel alone.
AttentionCGSupport flashinfer_cudagraph(const SelectionQuestion& question, const CudagraphRun&) {
  if (question.config.use_dcp || !uses_trtllm_decode(question)) {
    return AttentionCGSupport::kUniformSingleTokenDecode;
  }
  const bool takes_non_causal = question.capability.major != 10;
  return !question.config.use_non_causal || takes_non_causal
             ? AttentionCGSupport::kUniformBatch
             : AttentionCGSupport::kUniformSingleTokenDecode;
}

}  // namespace

std::optional<std::string> flashinfer_combination(const SelectionQuestion& question) {
  const AttentionSelectorConfig& config = question.config;
  const int major = question.capability.major;
  const bool is_nvfp4 = config.kv_cache_dtype && config.kv_cache_dtype->starts_with("nvfp4");
  if (!is_nvfp4 || (major != 8 && major != 9 && major != 12)) return std::nullopt;
  if (config.head_size == 64) return "fa2 prefill misreads an NVFP4 KV cache at head_size 64";
  if (config.has_sink) return "the sink prefill wrapper cannot read an NVFP4 KV cache";
  return std::nullopt;
}

const BackendFacts& flashinfer() {
  static const BackendFacts kRow = {
      .name = "FLASHINFER",
      .path = "vllm.v1.attention.backends.flashinfer.FlashInferBackend",
      .family = "ordinary",
      .description =
          "FlashInfer paged attention; on 10.x it drives the TRT-LLM generated kernels, on 9.0 and "
          "12.x the XQA decode kernel.",
      .package = "flashinfer",
      .class_name = "FlashInferBackend",
      .get_name = "FLASHINFER",
      .kv_cache_dtypes = {"auto", "float16", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2", "nvfp4",
                          "nvfp4_4over6"},
      .kv_cache_dtype_rule = flashinfer_accepts_kv_cache_dtype,
      .kernel_block_sizes = flashinfer_kernel_block_sizes,
      .head_sizes = HeadSizes{.listed = {64, 128, 256, 512}},
      .capabilities = {{{8, 0}, {12, 1}}},
      .supports_sink = flashinfer_supports_sink,
      .supports_sliding_window = true,
      .supports_non_causal = true,
      .supports_kv_connector = true,
      .supports_dcp = true,
      .supports_device_cpu_query_lens_mismatch = flashinfer_supports_query_lens_mismatch,
      .supports_combination = flashinfer_combination,
      .missing_imports = {"flashinfer"},
      .cudagraph_rule = flashinfer_cudagraph,
      .cudagraph_depends =
          "DCP above 1: UNIFORM_SINGLE_TOKEN_DECODE. Otherwise UNIFORM_BATCH when every attention "
          "spec can use the TRT-LLM decode API (allowed, available, query heads divisible by KV "
          "heads; on 9.0/12.x also head size 16..256 in steps of 16 and no nvfp4 except 12.x) and "
          "the run is causal or the GPU is 9.0/12.x; else UNIFORM_SINGLE_TOKEN_DECODE.",
      .reorder_batch_threshold = {.class_value = 1,
                                  .query_len_support = "",
                                  .in_constructor =
                                      "1, raised to 1+speculative tokens when a TRT-LLM decode "
                                      "kernel is usable; stays 1 under DCP."},
      .kv_page = kKeysAndValues,
      .quantised_page =
          "nvfp4: H = 2*num_kv_heads, C bytes = head_size//2 + head_size//16 (packed fp4 plus fp8 "
          "block scales)",
      .kv_cache_layouts_on_10 = {"LBHNC", "BLHNC"},
      .forward_includes_kv_cache_update = false,
      .decode_lse = DecodeLse{.returned = true, .natural_log = true},
  };
  return kRow;
}

}  // namespace pagelab::catalogue
