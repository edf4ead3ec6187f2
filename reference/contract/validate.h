/// \file
/// Every way in which an attention step can be wrong, each with a sentence of its own that names
/// the field, the index and both values. All public entries call it, so no bad input reaches a
/// kernel.
#pragma once

#include "reference/contract/attention_step.h"

namespace pagelab {

/// What the step will be used for; storing has one rule more than attending.
enum class StepUse : std::uint8_t {
  kStoreAndAttend,  ///< new keys and values go to the cache first: no query may exceed its sequence
  kAttend,          ///< the cache is read as it is: longer queries are legal, aligned bottom right
};

/// Checks a whole step.
/// \throws Error  for the first inconsistency found, in one sentence
void validate(const AttentionStep& step, StepUse use = StepUse::kStoreAndAttend);

/// Checks the batch against the cache that it will read and write.
/// \param metadata    the batch
/// \param attn_type   for kEncoderOnly nothing is read from the cache
/// \param num_tokens  T, rows of query, key and value
/// \param spec        sizes of the cache
/// \param use         storing or attending only
/// \throws Error      for the first inconsistency found, in one sentence
void validate(const CommonAttentionMetadata& metadata,
              AttnType attn_type,
              std::int64_t num_tokens,
              const KvCacheSpec& spec,
              StepUse use);

/// Checks the options of the attention.
/// \throws Error  for the first inconsistency found, in one sentence
void validate(const AttentionVariant& variant,
              std::int64_t num_query_heads,
              const CommonAttentionMetadata& metadata);

}  // namespace pagelab
