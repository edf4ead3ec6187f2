#include "simulator/engine/sizing/kv_cache_capacity.h"

#include <fmt/format.h>

#include <algorithm>

#include "reference/cache/block_table.h"
#include "reference/contract/refuse.h"
#include "simulator/engine/in_range.h"

namespace pagelab {
namespace {

constexpr std::int64_t kLeastBlocks = 2;  // the null block, and one to use
constexpr std::int64_t kMostBytes = 1'000'000'000'000'000;

// A cache, if some memory could hold it.
KVCacheCapacity capacity_of(std::int64_t num_blocks,
                            std::int64_t block_size,
                            std::int64_t block_bytes,
                            const std::string& formula) {
  if (num_blocks > kMostBytes / block_bytes || num_blocks > kMostTokens) {
    refuse("{} blocks of {} bytes are more than {} bytes or {} blocks, the most there may be.",
           num_blocks, block_bytes, kMostBytes, kMostTokens);
  }
  return {num_blocks, block_size, block_bytes, formula};
}

}  // namespace

std::string to_string(const KVCacheCapacity& capacity) {
  return fmt::format("{} blocks of {} tokens = {} tokens, {} bytes: {}", capacity.num_blocks,
                     capacity.block_size, capacity.num_tokens(), capacity.num_bytes(),
                     capacity.formula);
}

std::int64_t bytes_per_block(const std::vector<UniformTypeKVCacheSpecs>& groups) {
  std::int64_t largest = 0;
  for (const UniformTypeKVCacheSpecs& group : groups) {
    largest = std::max(largest, group.page_size_bytes());
  }
  if (largest == 0) refuse("the model has no layer with a cache; there is nothing to size.");
  return largest;
}

KVCacheCapacity capacity_of_memory(std::int64_t memory_bytes,
                                   const std::vector<UniformTypeKVCacheSpecs>& groups,
                                   std::int64_t block_size) {
  require_in_range("block_size", block_size, 1);
  const std::int64_t block_bytes = bytes_per_block(groups);
  const std::int64_t num_blocks = memory_bytes / block_bytes;
  if (num_blocks < kLeastBlocks) {
    refuse("{} bytes hold {} blocks of {} bytes; the null block takes one, so {} are the least.",
           memory_bytes, num_blocks, block_bytes, kLeastBlocks);
  }
  return capacity_of(
      num_blocks, block_size, block_bytes,
      fmt::format("{} bytes / {} a block = {}", memory_bytes, block_bytes, num_blocks));
}

KVCacheCapacity capacity_for_tokens(std::int64_t num_tokens,
                                    const std::vector<UniformTypeKVCacheSpecs>& groups,
                                    std::int64_t block_size) {
  require_in_range("num_tokens", num_tokens, 1, kMostTokens);
  require_in_range("block_size", block_size, 1);
  const std::int64_t num_blocks = blocks_for_tokens(num_tokens, block_size);
  return capacity_of(num_blocks, block_size, bytes_per_block(groups),
                     fmt::format("ceil({} tokens / {}) = {}", num_tokens, block_size, num_blocks));
}

}  // namespace pagelab
