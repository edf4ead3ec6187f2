/// \file
/// Where a token's key and value lie: the block table read once.
#pragma once

#include <cstdint>

#include "gpu/device/keywords.h"
#include "gpu/kernels/paged_attention/params.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// A slot of the cache.
struct CachePlace {
  std::int64_t physical_block;  ///< which block
  std::int64_t block_offset;    ///< which token of it

  /// Distance from the first element of the cache's first token, for one head.
  __device__ std::int64_t offset(const KvStrides& strides) const {
    return physical_block * strides.block + block_offset * strides.token;
  }
};

/// A place that is not read. It is negative, as no token's is; and 16 elements are a multiple of 16 bytes
/// whatever their type, so that an address made of it is aligned like every other.
inline constexpr std::int64_t kNoToken = -16;

/// Where a token's key and value begin, in elements from the first of the head.
struct TokenPlace {
  std::int64_t key;    ///< kNoToken: no row sees it
  std::int64_t value;  ///< likewise
};

/// The slot of a position of a request. Positions and block sizes fit 32 bits, in which a GPU divides
/// several times faster than in 64.
/// \param block_table_row  [max_blocks_per_req] of the request
/// \param block_size       tokens a block
/// \param position         below the request's seq_len
__device__ inline CachePlace place_of(const std::int32_t* block_table_row,
                                      std::int64_t block_size,
                                      std::int64_t position) {
  const std::uint32_t tokens_per_block = static_cast<std::uint32_t>(block_size);
  const std::uint32_t logical_block = static_cast<std::uint32_t>(position) / tokens_per_block;
  const std::uint32_t block_offset =
      static_cast<std::uint32_t>(position) - logical_block * tokens_per_block;
  const std::int32_t physical_block = block_table_row[logical_block];
  return {physical_block, block_offset};
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
