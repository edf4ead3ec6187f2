/// \file
/// Attention over keys and values that lie in order, in plain arrays: the definition that every
/// other form is held against. Causality is anchored at the bottom right: the last query sees every
/// key. With 2 queries and 5 keys, positions 3 and 4 ask:
///
///                key 0 1 2 3 4
///     query 0        x x x x .
///     query 1        x x x x x
///
/// A row that sees no key gives 0 and an LSE of −∞ (with a sink: the sink).
#pragma once

#include "reference/contract/attention_step.h"
#include "reference/tensor/tensor.h"

namespace pagelab {

/// The attention of one request's queries.
struct RequestAttention {
  Tensor output;  ///< [n, num_query_heads, head_size_v], float64 or float32
  Tensor lse;     ///< [num_query_heads, n], natural log, the same dtype
};

/// Attention of one request: query i stands at position m − n + i, key j at position j.
/// \tparam Real    float (the canonical order that kernels repeat) or double
/// \param query    [n, num_query_heads, head_size], any activation dtype
/// \param key      [m, num_kv_heads, head_size], any activation dtype
/// \param value    [m, num_kv_heads, head_size_v], any activation dtype
/// \param variant  the kind of attention
/// \param req_idx  the request whose prefix ranges count
/// \returns        output and LSE, as Real
/// \throws Error   if a shape, a dtype or an option is inconsistent
/// \source         Attention Is All You Need (Vaswani et al. 2017), section 3.2; the maximum is
///                 subtracted first, as in Milakov and Gimelshein (2018)
template <typename Real>
RequestAttention contiguous_attention(const Tensor& query,
                                      const Tensor& key,
                                      const Tensor& value,
                                      const AttentionVariant& variant,
                                      std::int64_t req_idx = 0);

}  // namespace pagelab
