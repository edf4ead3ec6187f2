/// \file
/// Cascade attention: a batch whose requests begin with the same blocks, attended in two parts. All queries meet the
/// shared prefix at once, as if they were one request, so that its keys and values are fetched once; then each
/// meets the rest of its own table; then the two results are merged (merge_states.h).
///
///     block_table   6 1 4 .        prefix   all queries   → 6 1       no mask: every query is behind it
///                   6 1 9 2        suffix   request 0     → 4 .       causal, as ever
///                   6 1 7 .                 request 1     → 9 2
///                                           request 2     → 7 .
///
/// What an attention variant says about positions does not survive: the prefix part knows no position of a query,
/// and in the suffix part both query and key have moved. So windows, ALiBi and prefix-LM ranges are refused.
#pragma once

#include <cstdint>

#include "reference/contract/attention_step.h"
#include "reference/tensor/tensor.h"

namespace pagelab {

/// The two parts of a step. Query, key, value and cache are those of the step.
struct CascadeParts {
  /// One request of all queries, whose keys are the shared blocks. No request at all if there is no query.
  CommonAttentionMetadata prefix;
  /// Not causal. A sink is one more term of a softmax, so it belongs to one part: this one.
  AttentionVariant prefix_variant;
  /// The requests, with the columns after the prefix. Requests without a query keep no key.
  CommonAttentionMetadata suffix;
  AttentionVariant suffix_variant;  ///< as the step's, without sinks
};

/// Takes a batch apart. Requests without a query take no part: nothing is asked of their tables and lengths.
/// \param metadata                  valid (validate.h)
/// \param variant                   valid
/// \param block_size                tokens a block
/// \param num_common_prefix_blocks  leading blocks that all requests with a query share, at least 1
/// \throws Error  if the block tables do not begin with so many common blocks; if they hold more tokens than some
///                request has before its queries, so that a query would see keys after it; or if the variant is not
///                that of a decoder, or has a window, ALiBi or prefix-LM ranges
/// \source        vLLM 0.20.2, v1/attention/backends/flash_attn.py, cascade_attention
CascadeParts split_cascade(const CommonAttentionMetadata& metadata,
                           const AttentionVariant& variant,
                           std::int64_t block_size,
                           std::int64_t num_common_prefix_blocks);

/// paged_attention_in_place in two parts: the same up to rounding.
/// With infinite data it may differ: a row whose every score over one part is −∞ is NaN over that part.
/// \tparam Real   float or double; either part is in the canonical order
/// \param step                      nothing is stored
/// \param num_common_prefix_blocks  leading blocks that all requests with a query share, at least 1
/// \param output  set to [T, num_query_heads, head_size_v] as Real; padding rows are 0
/// \param lse     set to [num_query_heads, T] as Real, natural log; padding rows are −∞
/// \throws Error  if the step is inconsistent, or split_cascade refuses it
/// \source        vLLM 0.20.2, v1/attention/backends/flash_attn.py, cascade_attention; FlashInfer (Ye et al. 2025)
template <typename Real>
void cascade_attention(const AttentionStep& step,
                       std::int64_t num_common_prefix_blocks,
                       Tensor& output,
                       Tensor& lse);

}  // namespace pagelab
