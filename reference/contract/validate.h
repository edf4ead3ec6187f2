/// \file
/// Every way in which an attention step can be wrong, each with a sentence of its own that names
/// the field, the index and both values. All public entries call it, so no bad input reaches a
/// kernel.
#pragma once

#include "reference/contract/attention_step.h"

namespace pagelab {

/// What the step will be used for; storing has rules of its own.
enum class StepUse : std::uint8_t {
  /// New keys and values go to the cache first. Slots are checked against the cache, the block
  /// table and each other; where any token is stored, no query may exceed its sequence.
  kStoreAndAttend,
  /// The cache is read as it is, and of the slots only their number is checked. Longer queries are
  /// legal, aligned bottom right.
  kAttend,
};

/// Checks a whole step.
/// \param step    the step
/// \param use     storing and attending, or attending only
/// \throws Error  for the first inconsistency found, in one sentence
void validate(const AttentionStep& step, StepUse use = StepUse::kStoreAndAttend);

/// Checks the arrays of a step against each other and against the cache that they go with.
/// \param query   [T, num_query_heads, head_size]
/// \param key     [T, num_kv_heads, head_size]
/// \param value   [T, num_kv_heads, head_size_v]
/// \param spec    sizes of the cache
/// \throws Error  for the first inconsistency found, in one sentence
void validate(const Tensor& query, const Tensor& key, const Tensor& value, const KvCacheSpec& spec);

/// Checks a cache's scales.
/// \throws Error  if there are neither one nor one a KV head, or one of them cannot be a scale
void validate(const KvCache& cache);

/// Checks the batch against the cache that it will read and write.
/// A stored token's slot must be the one that the block table gives its position; for the encoder
/// types, whose tokens have no place in the table, any slot of the cache will do.
/// \param metadata    the batch
/// \param attn_type   for kEncoderOnly nothing is read from the cache, so the block table need not
///                    cover the sequences
/// \param num_tokens  T, rows of query, key and value
/// \param spec        sizes of the cache
/// \param use         storing and attending, or attending only
/// \throws Error      for the first inconsistency found, in one sentence
void validate(const CommonAttentionMetadata& metadata,
              AttnType attn_type,
              std::int64_t num_tokens,
              const KvCacheSpec& spec,
              StepUse use);

/// Checks the options of the attention: finite numbers in range, one slope and one sink a query
/// head, and nothing that the attention type has no meaning for. Scale and soft cap must be
/// positive and within float32's normal range, because every kernel computes with them in float32.
/// \param variant          the options
/// \param num_query_heads  query heads
/// \param metadata         the batch, whose requests the prefix-LM ranges name
/// \throws Error           for the first inconsistency found, in one sentence
void validate(const AttentionVariant& variant,
              std::int64_t num_query_heads,
              const CommonAttentionMetadata& metadata);

}  // namespace pagelab
