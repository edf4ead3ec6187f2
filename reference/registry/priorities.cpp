#include "reference/registry/priorities.h"

#include "reference/registry/kv_cache_dtypes.h"

namespace pagelab {
namespace {

using Names = std::vector<std::string_view>;

// With a quantised cache, or few heads a GPU, vLLM tries FlashInfer's sparse kernel before FlashMLA's.
constexpr std::int64_t kFewHeads = 16;

const Names& mla_priorities_on_10(const SelectionQuestion& question) {
  static const Names kFlashInferSparseFirst = {
      "FLASHINFER_MLA", "TOKENSPEED_MLA", "CUTLASS_MLA",           "FLASH_ATTN_MLA",
      "FLASHMLA",       "TRITON_MLA",     "FLASHINFER_MLA_SPARSE", "FLASHMLA_SPARSE"};
  static const Names kFlashMlaSparseFirst = {
      "FLASHINFER_MLA", "TOKENSPEED_MLA", "CUTLASS_MLA",     "FLASH_ATTN_MLA",
      "FLASHMLA",       "TRITON_MLA",     "FLASHMLA_SPARSE", "FLASHINFER_MLA_SPARSE"};
  const bool few_heads = question.num_heads && *question.num_heads <= kFewHeads;
  const bool quantized = is_quantized_kv_cache(question.config.kv_cache_dtype);
  return quantized || few_heads ? kFlashInferSparseFirst : kFlashMlaSparseFirst;
}

const Names& mla_priorities(const SelectionQuestion& question) {
  static const Names kOn12 = {"TRITON_MLA", "FLASHINFER_MLA_SPARSE_SM120"};
  static const Names kHeadsWithoutRope = {"FLASH_ATTN_MLA",
                                          "FLASHMLA",
                                          "FLASHINFER_MLA",
                                          "TRITON_MLA",
                                          "FLASHINFER_MLA_SPARSE_SM90",
                                          "FLASH_ATTN_MLA_SPARSE",
                                          "FLASHMLA_SPARSE"};
  static const Names kOther = {"FLASH_ATTN_MLA",
                               "FLASHMLA",
                               "FLASHINFER_MLA",
                               "TRITON_MLA",
                               "FLASH_ATTN_MLA_SPARSE",
                               "FLASHMLA_SPARSE",
                               "FLASHINFER_MLA_SPARSE_SM90"};
  if (question.capability.major == 10) return mla_priorities_on_10(question);
  if (question.capability.major == 12) return kOn12;
  return question.config.head_size == 512 ? kHeadsWithoutRope : kOther;
}

const Names& ordinary_priorities(const SelectionQuestion& question) {
  static const Names kOn10WithPrefix = {"TRITON_FLASHINFER", "FLASHINFER",     "FLASH_ATTN",
                                        "TRITON_ATTN",       "FLEX_ATTENTION", "TURBOQUANT"};
  static const Names kOn10 = {"FLASHINFER", "FLASH_ATTN", "TRITON_ATTN", "FLEX_ATTENTION",
                              "TURBOQUANT"};
  static const Names kOn9WithPrefix = {"TRITON_FLASH_ATTN", "FLASH_ATTN",     "FLASHINFER",
                                       "TRITON_ATTN",       "FLEX_ATTENTION", "TURBOQUANT"};
  static const Names kOther = {"FLASH_ATTN", "FLASHINFER", "TRITON_ATTN", "FLEX_ATTENTION",
                               "TURBOQUANT"};
  const AttentionSelectorConfig& config = question.config;
  const int major = question.capability.major;
  if (major == 10 && !config.use_non_causal) return config.use_mm_prefix ? kOn10WithPrefix : kOn10;
  if (major == 9 && config.use_mm_prefix) return kOn9WithPrefix;
  return kOther;
}

}  // namespace

const Names& backend_priorities(const SelectionQuestion& question) {
  return question.config.use_mla ? mla_priorities(question) : ordinary_priorities(question);
}

const Names& vit_backend_priorities(DeviceCapability capability) {
  static const Names kAmpereAndLater = {"FLASH_ATTN", "TRITON_ATTN", "TORCH_SDPA", "FLASHINFER"};
  static const Names kOlder = {"FLASH_ATTN", "TORCH_SDPA", "TRITON_ATTN", "FLASHINFER"};
  return capability >= DeviceCapability{8, 0} ? kAmpereAndLater : kOlder;
}

}  // namespace pagelab
