/// \file
/// How a KV cache is divided: block size, pool, and the groups of layers whose blocks live and die
/// together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pagelab {

/// Layers that keep the same tokens: all of them, or those within a sliding window.
struct KVCacheGroupSpec {
  std::optional<std::int32_t> sliding_window;  ///< keys a query sees, its own included; none: all
  /// Tokens a block; none: the cache's. A block has as many bytes in every group: where a token takes fewer of
  /// them, it holds more tokens (unify_page_sizes).
  std::optional<std::int32_t> block_size = {};

  /// Groups of equal specs are searched for hits together.
  bool operator==(const KVCacheGroupSpec&) const = default;
};

/// A cache and its rules. All groups take their blocks from one pool.
struct KVCacheConfig {
  std::int32_t block_size = 16;    ///< tokens a block, in groups that do not say otherwise
  std::int32_t num_blocks = 0;     ///< blocks of the pool, the null block included
  std::int32_t max_model_len = 0;  ///< tokens that a request may have in all
  /// Tokens of one request that may be scheduled and not yet processed; bounds what a window needs.
  std::int32_t max_in_flight_tokens = 0;
  bool enable_caching = true;                   ///< whether full blocks are kept for other requests
  double watermark = 0;                         ///< share of the pool that admissions leave free
  std::vector<KVCacheGroupSpec> groups = {{}};  ///< at least one
};

/// \throws Error  naming the field that is out of range
void validate(const KVCacheConfig& config);

/// Tokens a block of a group.
inline std::int32_t block_size_of(const KVCacheConfig& config, const KVCacheGroupSpec& spec) {
  return spec.block_size.value_or(config.block_size);
}

/// The groups' block sizes as messages name them: "16", or "16/8" if they differ.
std::string block_sizes_text(const KVCacheConfig& config);

/// Tokens after which prefixes have a name: the largest number that divides every group's block size.
/// \source vLLM v1/core/kv_cache_utils.py, resolve_kv_cache_block_sizes
std::int32_t hash_block_size(const KVCacheConfig& config);

/// Tokens of the shortest stretch that is whole blocks in every group, the least common multiple of their sizes. Only
/// whole stretches are cached and hit, so that all groups can say the same of a prefix.
std::int32_t scheduler_block_size(const KVCacheConfig& config);

/// Blocks that one request can need at most in one group: what a window leaves behind is free again.
/// \param config      the cache
/// \param spec        one of its groups
/// \param num_tokens  tokens of the request
std::int32_t max_blocks_needed(const KVCacheConfig& config,
                               const KVCacheGroupSpec& spec,
                               std::int32_t num_tokens);

/// Leading blocks that no query from position `num_computed_tokens` on sees.
/// \param block_size           tokens a block
/// \param spec                 the group
/// \param num_computed_tokens  tokens whose keys were used already
std::int32_t num_skipped_blocks(std::int32_t block_size,
                                const KVCacheGroupSpec& spec,
                                std::int32_t num_computed_tokens);

/// The quotient, rounded up.
inline std::int32_t ceil_div(std::int32_t dividend, std::int32_t divisor) {
  return (dividend + divisor - 1) / divisor;
}

}  // namespace pagelab
