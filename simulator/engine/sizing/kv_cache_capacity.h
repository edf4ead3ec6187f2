/// \file
/// How many blocks a cache has, and how that was computed. Tokens and blocks are easily taken for one another, so a
/// report names both, and the formula.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/engine/sizing/kv_cache_spec.h"

namespace pagelab {

/// A cache's size.
struct KVCacheCapacity {
  std::int64_t num_blocks = 0;       ///< the null block included
  std::int64_t block_size = 0;       ///< tokens a block
  std::int64_t bytes_per_block = 0;  ///< of all layers that share it
  std::string formula;               ///< how num_blocks was computed, with its numbers

  /// Tokens that the blocks hold.
  std::int64_t num_tokens() const { return num_blocks * block_size; }
  /// Bytes that the blocks take.
  std::int64_t num_bytes() const { return num_blocks * bytes_per_block; }
};

/// "670 blocks of 16 tokens = 10720 tokens, 43909120 bytes: ceil(10718 tokens / 16) = 670".
std::string to_string(const KVCacheCapacity& capacity);

/// Bytes of a block: groups of layers take turns in the same memory, so the largest group counts.
/// \param groups   layers that share their blocks
/// \throws Error   if there is no layer
std::int64_t bytes_per_block(const std::vector<UniformTypeKVCacheSpecs>& groups);

/// The cache that fits some memory.
/// \param memory_bytes  what may be used
/// \param groups        the model's layers
/// \param block_size    tokens a block, for the report
/// \throws Error        if the memory holds fewer than two blocks: the null block takes one
KVCacheCapacity capacity_of_memory(std::int64_t memory_bytes,
                                   const std::vector<UniformTypeKVCacheSpecs>& groups,
                                   std::int64_t block_size);

/// The cache that some tokens of one request need.
/// \param num_tokens    tokens asked for
/// \param groups        the model's layers
/// \param block_size    tokens a block
/// \throws Error        if a number is below 1
KVCacheCapacity capacity_for_tokens(std::int64_t num_tokens,
                                    const std::vector<UniformTypeKVCacheSpecs>& groups,
                                    std::int64_t block_size);

}  // namespace pagelab
