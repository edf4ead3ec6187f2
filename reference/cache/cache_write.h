/// \file
/// The cache write: action 1 of a paged kernel's contract. Each new token's key and value go to its
/// slot, rounded to the cache's type.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/cache/kv_cache.h"
#include "reference/tensor/tensor.h"

namespace pagelab {

/// Checks that these keys and values can be stored in a cache.
/// \param key           [T, num_kv_heads, head_size], any activation dtype
/// \param value         [T, num_kv_heads, head_size_v], the same dtype
/// \param slot_mapping  [T] kNoSlot, or a slot of the cache, none twice
/// \param spec          the cache's sizes
/// \throws Error        naming the first thing that does not fit
void validate_cache_write(const Tensor& key,
                          const Tensor& value,
                          const std::vector<std::int64_t>& slot_mapping,
                          const KvCacheSpec& spec);

/// Stores new keys and values at their slots. Tokens with kNoSlot are not stored.
/// \param key           [T, num_kv_heads, head_size], any activation dtype
/// \param value         [T, num_kv_heads, head_size_v], the same dtype
/// \param slot_mapping  [T]
/// \param cache         changed; with fp8 it holds key / k_scale and value / v_scale
/// \throws Error        if a shape, dtype or slot does not fit the cache; then nothing is stored
/// \source              vLLM csrc/cache_kernels.cu, reshape_and_cache_flash
void reshape_and_cache(const Tensor& key,
                       const Tensor& value,
                       const std::vector<std::int64_t>& slot_mapping,
                       KvCache& cache);

}  // namespace pagelab
