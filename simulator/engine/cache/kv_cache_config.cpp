#include "simulator/engine/cache/kv_cache_config.h"

#include <algorithm>
#include <numeric>

#include "reference/contract/refuse.h"
#include "simulator/engine/in_range.h"

namespace pagelab {

void validate(const KVCacheConfig& config) {
  require_in_range("block_size", config.block_size, 1);
  if (config.num_blocks < 2) {
    refuse("num_blocks is {}; it must be at least 2, because the null block takes one.",
           config.num_blocks);
  }
  require_in_range("max_model_len", config.max_model_len, 1, kMostTokens);
  require_in_range("max_in_flight_tokens", config.max_in_flight_tokens, 1, kMostTokens);
  if (!(config.watermark >= 0 && config.watermark < 1)) {
    refuse("watermark is {}; it is a share of the pool, from 0 to less than 1.", config.watermark);
  }
  if (config.groups.empty()) refuse("groups is empty; a cache has at least one group.");
  for (const KVCacheGroupSpec& spec : config.groups) {
    if (spec.sliding_window) {
      require_in_range("sliding_window", *spec.sliding_window, 1, kMostTokens);
    }
    if (spec.block_size) require_in_range("a group's block_size", *spec.block_size, 1, kMostTokens);
  }
  std::int64_t stretch = 1;
  for (const KVCacheGroupSpec& spec : config.groups) {
    stretch = std::lcm(stretch, std::int64_t{block_size_of(config, spec)});
    if (stretch <= kMostTokens) continue;
    refuse(
        "the groups' block sizes have no common multiple up to {}; only whole multiples could be "
        "cached.",
        kMostTokens);
  }
}

std::string block_sizes_text(const KVCacheConfig& config) {
  std::string text;
  std::int32_t last = 0;
  for (const KVCacheGroupSpec& spec : config.groups) {
    const std::int32_t block_size = block_size_of(config, spec);
    if (block_size != last) text += (text.empty() ? "" : "/") + std::to_string(block_size);
    last = block_size;
  }
  return text;
}

std::int32_t hash_block_size(const KVCacheConfig& config) {
  std::int32_t unit = 0;
  for (const KVCacheGroupSpec& spec : config.groups)
    unit = std::gcd(unit, block_size_of(config, spec));
  return unit;
}

std::int32_t scheduler_block_size(const KVCacheConfig& config) {
  std::int32_t stretch = 1;
  for (const KVCacheGroupSpec& spec : config.groups)
    stretch = std::lcm(stretch, block_size_of(config, spec));
  return stretch;
}

std::int32_t max_blocks_needed(const KVCacheConfig& config,
                               const KVCacheGroupSpec& spec,
                               std::int32_t num_tokens) {
  const std::int32_t block_size = block_size_of(config, spec);
  const std::int32_t num_blocks = ceil_div(num_tokens, block_size);
  if (!spec.sliding_window) return num_blocks;
  // The keys that the first query in flight sees, and all queries in flight; they begin anywhere in
  // a block, hence one block more.
  const std::int32_t resident_tokens =
      std::min(*spec.sliding_window - 1 + config.max_in_flight_tokens, config.max_model_len);
  return std::min(num_blocks, ceil_div(resident_tokens, block_size) + 1);
}

std::int32_t num_skipped_blocks(std::int32_t block_size,
                                const KVCacheGroupSpec& spec,
                                std::int32_t num_computed_tokens) {
  if (!spec.sliding_window) return 0;
  return std::max(0, num_computed_tokens - *spec.sliding_window + 1) / block_size;
}

}  // namespace pagelab
