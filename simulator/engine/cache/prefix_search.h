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
  /// \param config  valid; has the groups
  explicit PrefixSearch(const KVCacheConfig& config);

  /// The longest hit that is whole blocks in every group.
  /// \param pool        has the cache map
  /// \param prefixes    [full blocks of hash_block_size of the request] the prefix that each one ends
  /// \param max_tokens  that may be hit, at most those that have a prefix and one block less than another
  PrefixHit find_longest_cache_hit(const BlockPool& pool,
                                   std::span<const PrefixId> prefixes,
                                   std::int32_t max_tokens) const;

 private:
  // Groups of one spec: a block is hit only if all of them have it.
  struct EqualGroups {
    KVCacheGroupSpec spec;  // with its block size
    std::vector<std::int32_t> group_ids;
    std::int32_t names_per_block;     // the last of which is the block's
    std::int32_t blocks_per_stretch;  // of scheduler_block_size

    PrefixId prefix_of(std::span<const PrefixId> prefixes, std::int32_t block) const {
      return prefixes[static_cast<std::size_t>(block + 1) * names_per_block - 1];
    }
  };

  // Each returns how many leading tokens are hit, and writes their blocks to the groups' lists.
  static std::int32_t search_full(const BlockPool& pool,
                                  std::span<const PrefixId> prefixes,
                                  const EqualGroups& groups,
                                  std::int32_t max_tokens,
                                  PrefixHit& hit);
  static std::int32_t search_window(const BlockPool& pool,
                                    std::span<const PrefixId> prefixes,
                                    const EqualGroups& groups,
                                    std::int32_t max_tokens,
                                    PrefixHit& hit);

  std::int32_t num_groups_;
  std::vector<EqualGroups> specs_;  // full attention first
};

}  // namespace pagelab
