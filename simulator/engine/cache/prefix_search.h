/// \file
/// The longest prefix of a request that the cache holds, in every group at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/engine/cache/block_pool.h"
#include "simulator/engine/cache/kv_cache_config.h"

namespace pagelab {

/// What the cache holds of a request.
struct PrefixHit {
  std::int32_t num_tokens = 0;               ///< leading tokens that need not be computed
  std::vector<std::vector<BlockId>> blocks;  ///< [groups][blocks of those tokens]
};

/// Finds hits for one division into groups.
/// \source vLLM v1/core/kv_cache_coordinator.py and single_type_kv_cache_manager.py
class PrefixSearch {
 public:
  /// \param block_size  tokens a block
  /// \param groups      as in KVCacheConfig
  PrefixSearch(std::int32_t block_size, std::span<const KVCacheGroupSpec> groups);

  /// The longest hit of whole blocks.
  /// \param pool       has the cache map
  /// \param prefixes   [full blocks of the request] the prefix that each one ends
  /// \param max_blocks that may be hit, at most the number of prefixes
  PrefixHit find_longest_cache_hit(const BlockPool& pool,
                                   std::span<const PrefixId> prefixes,
                                   std::int32_t max_blocks) const;

 private:
  // Groups of one spec: a block is hit only if all of them have it.
  struct EqualGroups {
    KVCacheGroupSpec spec;
    std::vector<std::int32_t> group_ids;
  };

  // Each returns how many leading blocks are hit, and writes them to the groups' lists.
  static std::int32_t search_full(const BlockPool& pool,
                                  std::span<const PrefixId> prefixes,
                                  const EqualGroups& groups,
                                  std::int32_t max_blocks,
                                  PrefixHit& hit);
  std::int32_t search_window(const BlockPool& pool,
                             std::span<const PrefixId> prefixes,
                             const EqualGroups& groups,
                             std::int32_t max_blocks,
                             PrefixHit& hit) const;

  std::int32_t block_size_;
  std::int32_t num_groups_;
  std::vector<EqualGroups> specs_;  // full attention first
};

}  // namespace pagelab
