// Lesson 08, a solution. There are others: the check judges what the functions return.
// No #pragma once: the tests include it once for each wrong answer, which differs from it in one function.

#include <optional>
#include <string>
#include <vector>

#include "lessons/08_registry_and_selection/questions.h"
#include "lessons/checker/not_solved.h"
#include "reference/registry/backend_facts.h"
#include "reference/registry/registration.h"

namespace pagelab::lesson_08 {

using lessons::NotSolved;

inline std::vector<std::string> predict_choices() {
  return {
      "FLASH_ATTN",      // first on 9.0, and nothing speaks against it
      "FLASHINFER",      // first on 10.x
      "FLASH_ATTN",      // without a causal mask, 10.x has the order of the others
      "FLASH_ATTN",      // FLASHINFER has kernels for heads of 64, 128, 256 and 512 alone
      "FLASHINFER",      // FLASH_ATTN does not read fp8_e5m2
      "FLASH_ATTN",      // its version 3 reads fp8 on 9.0
      "TRITON_ATTN",     // FLASH_ATTN and FLASHINFER have no sinks on 8.x
      "TRITON_ATTN",     // neither computes in float32
      kNobody,           // all of them want multiples of 16
      "FLEX_ATTENTION",  // 7.5 is too old for the first two, 16 elements too few for the third
  };
}

inline std::vector<std::string> validate_configuration(const BackendFacts& facts,
                                                       const SelectionQuestion& question) {
  const AttentionSelectorConfig& config = question.config;
  std::vector<std::string> reasons;
  // Nothing returns early: whoever reads the reasons wants to know all that has to change.
  const auto add_unless = [&reasons](bool accepted, const char* reason) {
    if (!accepted) reasons.push_back(reason);
  };
  // Of a feature it counts whether the layer asks for it.
  const auto add_if_asked = [&](bool asked, const Fact<bool>& supports, const char* reason) {
    add_unless(!asked || supports(question), reason);
  };
  add_unless(supports_head_size(facts, question), "head_size not supported");
  add_unless(supports_dtype(facts, question), "dtype not supported");
  add_unless(supports_kv_cache_dtype(facts, question), "kv_cache_dtype not supported");
  add_unless(supports_block_size(facts, question), "block_size not supported");
  // A latent layer's cache looks different, so who serves it serves no others.
  add_if_asked(config.use_mla, facts.is_mla, "MLA not supported");
  add_unless(config.use_mla || !facts.is_mla(question), "non-MLA not supported");
  add_if_asked(config.has_sink, facts.supports_sink, "attention sinks not supported");
  add_if_asked(config.use_sparse, facts.is_sparse, "sparse not supported");
  add_unless(config.use_sparse || !facts.is_sparse(question), "non-sparse not supported");
  add_unless(supports_compute_capability(facts, question), "compute capability not supported");
  add_if_asked(config.has_sliding_window, facts.supports_sliding_window,
               "sliding window not supported");
  add_if_asked(config.use_non_causal, facts.supports_non_causal,
               "non-causal attention not supported");
  // What each field allows, their combination may not.
  if (facts.supports_combination != nullptr) {
    const std::optional<std::string> reason = facts.supports_combination(question);
    if (reason.has_value()) reasons.push_back(*reason);
  }
  return reasons;
}

inline std::optional<Settings> repair(const Report& report) {
  Settings settings = report.settings;
  switch (report.number) {
    case 1:  // the only reason: block_size
      settings.block_size = std::nullopt;
      return settings;
    case 2:  // two settings are in the way, and each is a reason by itself
      settings.kv_cache_dtype = "auto";
      settings.block_size = std::nullopt;
      return settings;
    case 3:  // it was not declined: another one stands before it
      settings.attention_backend = "FLASH_ATTN";
      return settings;
    default:  // the sinks are the model's and 8.0 is the GPU's
      return std::nullopt;
  }
}

inline BackendFacts tiny_attn_row() {
  // A feature that a row does not mention it does not claim. Types, sizes and GPUs have defaults, and most of
  // those would claim too much here.
  BackendFacts row;
  row.name = "TINY_ATTN";
  row.path = "tiny_kernels.TinyAttentionBackend";
  row.class_name = "TinyAttentionBackend";
  row.dtypes = {"float16", "bfloat16", "float32"};
  row.kv_cache_dtypes = {"auto", "bfloat16"};
  row.kernel_block_sizes = KernelBlockSizes{multiple_of(32)};
  row.head_sizes = HeadSizes{.listed = {32, 64}};
  row.capabilities = {{{8, 0}, {9, 0}}};
  row.supports_sliding_window = true;
  return row;
}

inline void register_tiny_attn(BackendRegistry& registry) {
  registry.register_backend("TINY_ATTN", tiny_attn_row());
}

}  // namespace pagelab::lesson_08
