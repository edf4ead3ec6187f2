/// \file
/// What the cache-write kernels get: one side of the cache, keys or values, and the new rows for
/// it.
#pragma once

#include <cstdint>

#include "reference/cache/kv_cache.h"

namespace pagelab {

/// One launch stores one side. Plain data, passed by value; pointers are device addresses.
struct CacheWriteParams {
  const void* rows = nullptr;     ///< [num_tokens, num_kv_heads, head_size] new keys or values
  void* cache = nullptr;          ///< first key, or first value, of the cache
  KvStrides cache_strides;        ///< where the others are, in elements
  std::int64_t block_size = 1;    ///< tokens a block
  std::int64_t num_tokens = 0;    ///< rows, padding included
  std::int64_t num_kv_heads = 0;  ///< KV heads
  std::int64_t head_size = 0;     ///< elements of a row
  const std::int64_t* slot_mapping = nullptr;  ///< [num_tokens] kNoSlot stores nothing
  const float* scales = nullptr;               ///< [num_kv_heads] what fp8 elements are divided by
};

}  // namespace pagelab
