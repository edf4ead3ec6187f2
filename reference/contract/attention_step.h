/// \file
/// All that one attention call gets. `CommonAttentionMetadata` says which tokens belong to which
/// request and where their keys and values lie; `AttentionVariant` says what kind of attention it
/// is; `AttentionStep` holds both, the arrays, and the cache. `validate` (validate.h) says what is
/// wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/attention/variants.h"
#include "reference/cache/block_table.h"
#include "reference/cache/kv_cache.h"
#include "reference/tensor/tensor.h"

namespace pagelab {

/// The batch, as every backend gets it. N requests, T tokens, each request's tokens in one stretch.
/// \source vLLM v1/attention/backend.py, CommonAttentionMetadata
struct CommonAttentionMetadata {
  /// [N + 1] first token of each request; tokens from query_start_loc[N] on are padding.
  std::vector<std::int32_t> query_start_loc = {0};
  /// [N] tokens of each request that are in the cache once this step's are written, its query
  /// tokens being the last of them. Encoder lengths for AttnType::kEncoderDecoder.
  std::vector<std::int32_t> seq_lens;
  /// [N, max_blocks_per_req] where each request's context lies.
  BlockTable block_table;
  /// [T] where each new token's key and value go; kNoSlot stores nothing.
  std::vector<std::int64_t> slot_mapping;

  /// Requests, N.
  std::int64_t num_reqs() const { return static_cast<std::int64_t>(seq_lens.size()); }
  /// Tokens that belong to a request; the rest of the batch is padding.
  std::int64_t num_actual_tokens() const { return query_start_loc.back(); }
  /// Query tokens of a request in this step.
  std::int64_t query_len(std::int64_t req_idx) const {
    const std::int64_t end = query_start_loc[req_idx + 1];
    return end - query_start_loc[req_idx];
  }
  /// The longest query of the batch; 0 for an empty batch.
  std::int64_t max_query_len() const;
  /// The longest sequence of the batch; 0 for an empty batch.
  std::int64_t max_seq_len() const;
};

/// What kind of attention. Defaults are those of a plain causal decoder.
struct AttentionVariant {
  AttnType attn_type = AttnType::kDecoder;      ///< whose keys
  double scale = 1.0;                           ///< factor on the scores, usually 1/√head_size
  VisibilityRule visibility;                    ///< causality and window
  std::optional<double> logit_softcap;          ///< cap · tanh(score / cap), > 0
  std::vector<float> alibi_slopes;              ///< [num_query_heads] or empty
  std::vector<float> sinks;                     ///< [num_query_heads] or empty
  std::vector<MmPrefixRange> mm_prefix_ranges;  ///< prefix-LM ranges of all requests, or empty
};

/// One attention call with everything it needs.
struct AttentionStep {
  Tensor query;                      ///< [T, num_query_heads, head_size]
  Tensor key;                        ///< [T, num_kv_heads, head_size], this step's
  Tensor value;                      ///< [T, num_kv_heads, head_size_v], this step's
  KvCache cache;                     ///< before this step's tokens are written
  CommonAttentionMetadata metadata;  ///< the batch
  AttentionVariant variant;          ///< the kind of attention

  std::int64_t num_tokens() const { return query.shape()[0]; }       ///< T, padding included
  std::int64_t num_query_heads() const { return query.shape()[1]; }  ///< query heads
  std::int64_t num_kv_heads() const { return key.shape()[1]; }       ///< KV heads
  std::int64_t head_size() const { return query.shape()[2]; }    ///< elements of a query and a key
  std::int64_t head_size_v() const { return value.shape()[2]; }  ///< elements of a value
};

/// "decoder", "encoder_only" or "encoder_decoder".
std::string to_string(AttnType type);
/// One line: requests, tokens, lengths.
std::string to_string(const CommonAttentionMetadata& metadata);
/// One line: every option that differs from plain causal attention.
std::string to_string(const AttentionVariant& variant);
/// A few lines: shapes, dtypes, the batch, the variant, the cache.
std::string to_string(const AttentionStep& step);

}  // namespace pagelab
