/// \file
/// How a KV cache is divided: block size, pool, and the groups of layers whose blocks live and die
/// together.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace pagelab {

/// Layers that keep the same tokens: all of them, or those within a sliding window.
struct KVCacheGroupSpec {
  std::optional<std::int32_t> sliding_window;  ///< keys a query sees, its own included; none: all

  /// Groups of equal specs are searched for hits together.
  bool operator==(const KVCacheGroupSpec&) const = default;
};

/// A cache and its rules. All groups take blocks of one size from one pool.
struct KVCacheConfig {
  std::int32_t block_size = 16;    ///< tokens a block
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
