/// \file
/// The shapes of attention that `pagelab measure attention` runs: how many requests, with how many queries and
/// keys, and what work that is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/attention_step.h"

namespace pagelab::cli {

/// The numbers of a model's attention layer that all shapes share.
struct MeasuredLayer {
  std::int64_t num_query_heads = 0;  ///< a multiple of num_kv_heads
  std::int64_t num_kv_heads = 0;     ///< KV heads
  std::int64_t head_size = 0;        ///< of keys and values
  std::int64_t block_size = 0;       ///< tokens of a KV block
  DType dtype = DType::kBFloat16;    ///< of queries and cache
};

/// A batch of requests that are alike.
struct MeasuredShape {
  std::string name;             ///< "decode:64x8192", as the user gave it
  std::int64_t num_reqs = 0;    ///< requests
  std::int64_t query_len = 0;   ///< queries of each, its last tokens
  std::int64_t seq_len = 0;     ///< keys of each
  std::int64_t prefix_len = 0;  ///< its first keys, which are in the same blocks in all requests

  /// Queries of the batch.
  std::int64_t num_tokens() const { return num_reqs * query_len; }
  /// Whether each request has one query.
  bool is_decode() const { return query_len == 1; }
  /// Whether there is something to cascade over.
  bool has_prefix() const { return prefix_len > 0; }
};

/// What has to be done for a shape, however it is done.
struct Work {
  double operations =
      0;  ///< of the two products over visible pairs; a multiplication and an addition are two
  double bytes = 0;  ///< each key and value of the cache once, queries and outputs
};

/// "decode:64x8192": 64 requests with one query and 8192 keys each. "prefill:1x2048": queries for all keys, causal.
/// "extend:4x16x2048": four requests with the last 16 queries of 2048 keys each. "cascade:64x8192x256": 64 requests with one
/// query each, the same first 8192 keys, and 256 of their own.
/// \throws Error  for another form, or numbers that are not allowed
MeasuredShape shape_of(const std::string& text);

/// \param shape         requests
/// \param layer         heads
/// \param output_bytes  of an element of the output
Work work_of(const MeasuredShape& shape, const MeasuredLayer& layer, std::int64_t output_bytes);

/// Blocks that the keys of a shape are in, those of the prefix once.
std::int64_t num_blocks_of(const MeasuredShape& shape, const MeasuredLayer& layer);

/// The batch of a shape: its blocks in random order, the same each time; no token is stored.
CommonAttentionMetadata metadata_of(const MeasuredShape& shape, const MeasuredLayer& layer);

/// Random numbers from −1 to 1, the same each time. Equal ones would let a GPU clock higher.
/// \param shape  of the tensor
/// \param dtype  of its elements
Tensor measured_numbers(const pagelab::Shape& shape, DType dtype);

/// A cache of so many blocks, of measured_numbers over and over.
KvCache measured_cache(std::int64_t num_blocks, const MeasuredLayer& layer);

/// \throws Error  if the numbers of a layer do not go together
void require_valid(const MeasuredLayer& layer);

/// \throws Error  if the prefix of a shape is not made of whole blocks
void require_valid(const MeasuredShape& shape, const MeasuredLayer& layer);

}  // namespace pagelab::cli
