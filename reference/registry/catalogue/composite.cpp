// Pairs of backends over one cache: Triton takes batches with prefix masks, the faster one the rest.

#include "reference/registry/catalogue/rows.h"

#include "reference/registry/flash_attn_version.h"

namespace pagelab::catalogue {
namespace {

bool both_children_accept_kv_cache_dtype(const BackendFacts& facts,
                                         const SelectionQuestion& question) {
  for (const BackendFacts* child : facts.children) {
    if (!supports_kv_cache_dtype(*child, question)) return false;
  }
  return true;
}

// Blocks that both children's kernels page with: Triton takes any multiple of 16, so what is left is
// FlashAttention's.
KernelBlockSizes triton_flash_attn_kernel_block_sizes(const SelectionQuestion& question) {
  KernelBlockSizes common;
  for (const KernelBlockSize& block : flash_attn().kernel_block_sizes(question)) {
    if (block.size % 16 == 0) common.push_back(block);
  }
  return common;
}

// 64 tokens, if both children take them.
KernelBlockSizes triton_flashinfer_kernel_block_sizes(const SelectionQuestion& question) {
  SelectionQuestion with_64 = question;
  with_64.config.block_size = 64;
  const bool both =
      supports_block_size(triton_attn(), with_64) && supports_block_size(flashinfer(), with_64);
  return both ? KernelBlockSizes{fixed(64)} : KernelBlockSizes{};
}

// Triton has no rules of its own, and takes the prefix masks.
std::optional<std::string> triton_flash_attn_combination(const SelectionQuestion& question) {
  if (const std::optional<std::string> reason = flash_attn_reason(question, false)) {
    return "FLASH_ATTN: " + *reason;
  }
  const std::optional<int> version = flash_attn_version_of_record(question);
  if (version != 3 && version != 4) {
    return "FLASH_ATTN: causal route requires FlashAttention v3 or v4";
  }
  return std::nullopt;
}

std::optional<std::string> triton_flashinfer_combination(const SelectionQuestion& question) {
  if (const std::optional<std::string> reason = flashinfer_combination(question)) {
    return "FLASHINFER: " + *reason;
  }
  return std::nullopt;
}

// The level of the policy that routes batches to the children; both of them can do at least as much.
AttentionCGSupport composite_cudagraph(const SelectionQuestion& question, const CudagraphRun& run) {
  if (question.config.has_sliding_window && !run.clamps_window_to_mm_prefix) {
    return AttentionCGSupport::kNever;
  }
  return AttentionCGSupport::kUniformSingleTokenDecode;
}

}  // namespace

const BackendFacts& triton_flash_attn() {
  static const BackendFacts kRow = {
      .name = "TRITON_FLASH_ATTN",
      .path = "vllm.v1.attention.backends.triton_flash_attn.TritonFlashAttentionBackend",
      .family = "ordinary_composite",
      .description =
          "Hopper pair for prefix-LM image masks: Triton handles batches that need the mask, "
          "FlashAttention the purely causal ones; both share one cache.",
      .package = "vllm_flash_attn",
      .class_name = "TritonFlashAttentionBackend",
      .get_name = "TRITON_FLASH_ATTN",
      .kv_cache_dtype_rule = both_children_accept_kv_cache_dtype,
      .kernel_block_sizes = triton_flash_attn_kernel_block_sizes,
      .head_sizes = HeadSizes{.listed = {256, 512}},
      .capabilities = {{{9, 0}, {9, 99}}},
      .children = {&triton_attn(), &flash_attn()},
      .supports_mm_prefix = true,
      .supports_sliding_window = true,
      .supports_rswa = true,
      .supports_kv_connector = true,
      .supports_combination = triton_flash_attn_combination,
      .missing_imports = {kNoFlashAttn},
      .cudagraph_rule = composite_cudagraph,
      .cudagraph_depends =
          "Smallest of the two children's support and the routing policy's: NEVER when any layer "
          "has a sliding window without clamping it to the image prefix, else "
          "UNIFORM_SINGLE_TOKEN_DECODE.",
      .reorder_batch_threshold = {.class_value = {},
                                  .query_len_support = "",
                                  .in_constructor =
                                      "Smallest non-null threshold of the two builders."},
      .kv_page = kKeysAndValues,
      .kv_cache_layouts = kAllLayouts,
      .forward_includes_kv_cache_update = false,
      .notes =
          "Children are asked in order (Triton has no rules); the FlashAttention child is asked "
          "with use_mm_prefix=false and one extra rule; a child's reason is prefixed with the "
          "child's get_name() and ': '.",
  };
  return kRow;
}

const BackendFacts& triton_flashinfer() {
  static const BackendFacts kRow = {
      .name = "TRITON_FLASHINFER",
      .path = "vllm.v1.attention.backends.triton_flashinfer.TritonFlashInferBackend",
      .family = "ordinary_composite",
      .description =
          "Blackwell pair for prefix-LM image masks: Triton for masked batches, FlashInfer for "
          "causal ones.",
      .package = "flashinfer",
      .class_name = "TritonFlashInferBackend",
      .get_name = "TRITON_FLASHINFER",
      .kv_cache_dtype_rule = both_children_accept_kv_cache_dtype,
      .kernel_block_sizes = triton_flashinfer_kernel_block_sizes,
      .head_sizes = HeadSizes{.listed = {256, 512}},
      .capabilities = {{{10, 0}, {10, 99}}},
      .children = {&triton_attn(), &flashinfer()},
      .supports_mm_prefix = true,
      .supports_sliding_window = true,
      .supports_kv_connector = true,
      .supports_combination = triton_flashinfer_combination,
      .missing_imports = {"flashinfer"},
      .cudagraph_rule = composite_cudagraph,
      .cudagraph_depends = "As TRITON_FLASH_ATTN.",
      .reorder_batch_threshold = {.class_value = {},
                                  .query_len_support = "",
                                  .in_constructor =
                                      "Smallest non-null threshold of the two builders."},
      .kv_page = kKeysAndValues,
      .kv_cache_layouts = kAllLayouts,
      .kv_cache_layouts_on_10 = {"LBHNC", "BLHNC"},
      .forward_includes_kv_cache_update = false,
      .notes = "As TRITON_FLASH_ATTN: child reasons get the child's name in front.",
  };
  return kRow;
}

}  // namespace pagelab::catalogue
