#include "reference/attention/cascade.h"

#include <algorithm>
#include <optional>

#include "reference/attention/merge_states.h"
#include "reference/attention/paged.h"
#include "reference/contract/refuse.h"
#include "reference/contract/validate.h"

namespace pagelab {
namespace {

// vLLM's rule, and prefix-LM ranges, whose positions are absolute.
void require_no_positions(const AttentionVariant& variant) {
  const auto refuse_because = [](const char* reason) {
    refuse("cascade attention does not take {}: its prefix part knows no position of a query.",
           reason);
  };
  if (variant.attn_type != AttnType::kDecoder) {
    refuse("cascade attention is for decoders, but attn_type is {}.", to_string(variant.attn_type));
  }
  const VisibilityRule& rule = variant.visibility;
  if (rule.window_left != kUnbounded || rule.window_right != kUnbounded) {
    refuse_because("a sliding window");
  }
  if (!variant.alibi_slopes.empty()) refuse_because("ALiBi");
  if (!variant.mm_prefix_ranges.empty()) refuse_because("prefix-LM ranges");
}

// The request whose table stands for all of them.
std::optional<std::int64_t> first_with_a_query(const CommonAttentionMetadata& metadata) {
  for (std::int64_t req_idx = 0; req_idx < metadata.num_reqs(); ++req_idx) {
    if (metadata.query_len(req_idx) > 0) return req_idx;
  }
  return std::nullopt;
}

// Every query of the request comes after the prefix, and sees all of it.
void require_context(const CommonAttentionMetadata& metadata,
                     std::int64_t req_idx,
                     std::int64_t block_size,
                     std::int64_t num_blocks) {
  const std::int64_t context =
      metadata.seq_lens[static_cast<std::size_t>(req_idx)] - metadata.query_len(req_idx);
  if (num_blocks <= context / block_size && context >= 0) return;
  refuse(
      "num_common_prefix_blocks is {}, blocks of {} tokens, but request {} has {} tokens before "
      "its "
      "queries: they would see keys that come after them.",
      num_blocks, block_size, req_idx, context);
}

// What a count of references does not tell: whether these are the same blocks.
void require_common_blocks(const BlockTable& block_table,
                           std::int64_t first_idx,
                           std::int64_t req_idx,
                           std::int64_t num_blocks) {
  const auto first = block_table.row(first_idx).first(static_cast<std::size_t>(num_blocks));
  const auto row = block_table.row(req_idx);
  const auto [of_first, of_row] = std::mismatch(first.begin(), first.end(), row.begin());
  if (of_first == first.end()) return;
  refuse(
      "num_common_prefix_blocks is {}, but block_table[{}][{}] is {} and block_table[{}][{}] is "
      "{}: "
      "the prefix is not common. Were references counted instead of tables compared?",
      num_blocks, first_idx, of_first - first.begin(), *of_first, req_idx, of_row - row.begin(),
      *of_row);
}

BlockTable columns(const BlockTable& table, std::int64_t first, std::int64_t count) {
  BlockTable part = BlockTable::unused(table.num_reqs, count);
  for (std::int64_t req_idx = 0; req_idx < table.num_reqs; ++req_idx) {
    const auto row = table.row(req_idx).subspan(static_cast<std::size_t>(first),
                                                static_cast<std::size_t>(count));
    std::copy(row.begin(), row.end(), part.row(req_idx).begin());
  }
  return part;
}

CommonAttentionMetadata prefix_of(const CommonAttentionMetadata& metadata,
                                  std::int64_t first_idx,
                                  std::int64_t block_size,
                                  std::int64_t num_blocks) {
  CommonAttentionMetadata prefix;
  prefix.query_start_loc = {0, static_cast<std::int32_t>(metadata.num_actual_tokens())};
  prefix.seq_lens = {static_cast<std::int32_t>(num_blocks * block_size)};
  const auto row = metadata.block_table.row(first_idx).first(static_cast<std::size_t>(num_blocks));
  prefix.block_table = BlockTable::from_rows({{row.begin(), row.end()}});
  prefix.slot_mapping = metadata.slot_mapping;
  return prefix;
}

CommonAttentionMetadata suffix_of(const CommonAttentionMetadata& metadata,
                                  std::int64_t block_size,
                                  std::int64_t num_blocks) {
  CommonAttentionMetadata suffix = metadata;
  const BlockTable& table = metadata.block_table;
  suffix.block_table = columns(table, num_blocks, table.max_blocks_per_req - num_blocks);
  for (std::int64_t req_idx = 0; req_idx < metadata.num_reqs(); ++req_idx) {
    std::int32_t& seq_len = suffix.seq_lens[static_cast<std::size_t>(req_idx)];
    const bool has_query = metadata.query_len(req_idx) > 0;
    seq_len = has_query ? seq_len - static_cast<std::int32_t>(num_blocks * block_size) : 0;
  }
  return suffix;
}

}  // namespace

CascadeParts split_cascade(const CommonAttentionMetadata& metadata,
                           const AttentionVariant& variant,
                           std::int64_t block_size,
                           std::int64_t num_common_prefix_blocks) {
  if (num_common_prefix_blocks < 1) {
    refuse("num_common_prefix_blocks is {}, but cascade attention needs at least 1.",
           num_common_prefix_blocks);
  }
  require_no_positions(variant);

  CascadeParts parts;
  parts.prefix_variant = parts.suffix_variant = variant;
  parts.prefix_variant.visibility.causal = false;
  parts.suffix_variant.sinks.clear();
  const std::optional<std::int64_t> first_idx = first_with_a_query(metadata);
  if (!first_idx) {
    parts.prefix.slot_mapping = metadata.slot_mapping;
    parts.suffix = metadata;
    return parts;
  }
  for (std::int64_t req_idx = *first_idx; req_idx < metadata.num_reqs(); ++req_idx) {
    if (metadata.query_len(req_idx) == 0) continue;
    require_context(metadata, req_idx, block_size, num_common_prefix_blocks);
    require_common_blocks(metadata.block_table, *first_idx, req_idx, num_common_prefix_blocks);
  }
  parts.prefix = prefix_of(metadata, *first_idx, block_size, num_common_prefix_blocks);
  parts.suffix = suffix_of(metadata, block_size, num_common_prefix_blocks);
  return parts;
}

template <typename Real>
void cascade_attention(const AttentionStep& step,
                       std::int64_t num_common_prefix_blocks,
                       Tensor& output,
                       Tensor& lse) {
  validate(step, StepUse::kAttend);
  const CascadeParts parts = split_cascade(step.metadata, step.variant,
                                           step.cache.spec().block_size, num_common_prefix_blocks);
  AttentionStep part = step;

  // Step 1: all queries over the prefix
  AttentionStates prefix;
  part.metadata = parts.prefix;
  part.variant = parts.prefix_variant;
  paged_attention_in_place<Real>(part, prefix.output, prefix.lse);

  // Step 2: each request's queries over its own tokens
  AttentionStates suffix;
  part.metadata = parts.suffix;
  part.variant = parts.suffix_variant;
  paged_attention_in_place<Real>(part, suffix.output, suffix.lse);

  // Step 3: merge
  const AttentionStates merged = merge_states(prefix, suffix);
  output = merged.output;
  lse = merged.lse;
}

template void cascade_attention<float>(const AttentionStep&, std::int64_t, Tensor&, Tensor&);
template void cascade_attention<double>(const AttentionStep&, std::int64_t, Tensor&, Tensor&);

}  // namespace pagelab
