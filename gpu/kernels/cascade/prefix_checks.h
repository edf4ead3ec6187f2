/// \file
/// What cascade/1_prefix asks of its parameters, each in one sentence.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/kernels/paged_attention/params.h"
#include "gpu/kernels/paged_attention/tensor_core_checks.h"
#include "reference/attention/variants.h"
#include "reference/numerics/target.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// Why the prefix kernel does not take a launch, by sizes, strides and dtypes.
/// \param params  of the launch, with its types
/// \returns       empty if it does
inline std::string refusal_of_prefix(const PagedAttentionParams& params) {
  const std::string refusal = refusal_of_tensor_cores(params);
  if (!refusal.empty()) return refusal;
  if (params.cache_dtype != params.query_dtype) {
    return "the cache is " + std::string(to_string(params.cache_dtype)) + " and the query " +
           std::string(to_string(params.query_dtype)) +
           ", but they must have the same type. paged_prefill/3_pipelined takes fp8.";
  }
  const struct {
    const char* field;
    std::int64_t value;
  } heads[] = {{"head_size", params.head_size}, {"head_size_v", params.head_size_v}};
  for (const auto& head : heads) {
    if (head.value <= 128) continue;
    return std::string(head.field) + " is " + std::to_string(head.value) +
           ", but it must be from 16 to 128. paged_prefill/3_pipelined takes longer heads.";
  }
  return "";
}

/// Why it does not take a batch and a variant: it is for one request whose every row sees every key.
/// \param params  of the launch
/// \returns       empty if it does
inline std::string refusal_of_prefix_variant(const PagedAttentionParams& params) {
  if (params.num_reqs > 1) {
    return "num_reqs is " + std::to_string(params.num_reqs) +
           ", but a prefix is one request of all queries.";
  }
  const VisibilityRule& rule = params.visibility;
  const bool hides = rule.causal || rule.window_left != kUnbounded ||
                     rule.window_right != kUnbounded || params.num_mm_prefix_ranges > 0;
  if (hides || params.alibi_slopes != nullptr) {
    return "every row of a prefix sees every key, so there may be no causality, window, prefix-LM "
           "range or ALiBi.";
  }
  return "";
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
