/// \file
/// Between the paged cache and plain arrays: gather a request's keys and values into contiguous
/// memory, and fill a cache from it. A request's tokens come out in the order of their positions,
/// wherever their blocks lie.
#pragma once

#include <cstdint>
#include <span>

#include "reference/cache/block_table.h"
#include "reference/cache/kv_cache.h"
#include "reference/tensor/tensor.h"

namespace pagelab {

/// The keys of a request's first tokens, dequantised.
/// \param cache            the layer's cache
/// \param block_table_row  the request's blocks
/// \param num_tokens       positions 0 to num_tokens − 1
/// \param as               element type of the result: float64, float32, float16 or bfloat16
/// \returns                [num_tokens, num_kv_heads, head_size], each element rounded once
/// \throws Error           if a needed block is not in the row or not in the cache
Tensor gather_keys(const KvCache& cache,
                   std::span<const std::int32_t> block_table_row,
                   std::int64_t num_tokens,
                   DType as);

/// The values of a request's first tokens: like gather_keys.
/// \param cache            the layer's cache
/// \param block_table_row  the request's blocks
/// \param num_tokens       positions 0 to num_tokens − 1
/// \param as               element type of the result: float64, float32, float16 or bfloat16
/// \returns                [num_tokens, num_kv_heads, head_size_v], each element rounded once
/// \throws Error           if a needed block is not in the row or not in the cache
Tensor gather_values(const KvCache& cache,
                     std::span<const std::int32_t> block_table_row,
                     std::int64_t num_tokens,
                     DType as);

/// Stores plain keys and values as positions 0, 1, … of a request: the opposite of gathering.
/// \param key              [num_tokens, num_kv_heads, head_size], any activation dtype
/// \param value            [num_tokens, num_kv_heads, head_size_v], the same dtype
/// \param block_table_row  the request's blocks
/// \param cache            changed
/// \throws Error           if the arrays do not fit the cache, or a needed block is not in the row
void fill_paged_cache(const Tensor& key,
                      const Tensor& value,
                      std::span<const std::int32_t> block_table_row,
                      KvCache& cache);

}  // namespace pagelab
