#include "simulator/engine/cache/prefix_search.h"

#include <algorithm>

namespace pagelab {
namespace {

// Whether the cache map has a block in all groups.
bool has_cached_blocks(const BlockPool& pool,
                       PrefixId prefix,
                       std::span<const std::int32_t> group_ids) {
  for (const std::int32_t group : group_ids) {
    if (pool.get_cached_block(prefix, group) == kNoBlock) return false;
  }
  return true;
}

}  // namespace

PrefixSearch::PrefixSearch(const KVCacheConfig& config)
    : num_groups_(static_cast<std::int32_t>(config.groups.size())) {
  for (std::int32_t group = 0; group < num_groups_; ++group) {
    KVCacheGroupSpec spec = config.groups[group];
    const std::int32_t block_size = block_size_of(config, spec);
    spec.block_size = block_size;
    const auto same_spec = [&](const EqualGroups& equal) { return equal.spec == spec; };
    auto equal = std::find_if(specs_.begin(), specs_.end(), same_spec);
    if (equal == specs_.end()) {
      equal = specs_.insert(equal, {spec,
                                    {},
                                    block_size / hash_block_size(config),
                                    scheduler_block_size(config) / block_size});
    }
    equal->group_ids.push_back(group);
  }
  // Whatever full attention misses, no group can use.
  const auto is_full = [](const EqualGroups& equal) { return !equal.spec.sliding_window; };
  std::stable_partition(specs_.begin(), specs_.end(), is_full);
}

PrefixHit PrefixSearch::find_longest_cache_hit(const BlockPool& pool,
                                               std::span<const PrefixId> prefixes,
                                               std::int32_t max_tokens) const {
  PrefixHit hit;
  hit.blocks.resize(num_groups_);
  hit.num_tokens = max_tokens;
  // Each spec can only shorten what the others found, and a shorter hit may end where a window has
  // no run of blocks; so go round until nothing changes. Full attention is searched once: a part of
  // a prefix that is held is held.
  for (bool is_first_round = true;; is_first_round = false) {
    const std::int32_t before = hit.num_tokens;
    for (const EqualGroups& groups : specs_) {
      if (groups.spec.sliding_window) {
        hit.num_tokens = search_window(pool, prefixes, groups, hit.num_tokens, hit);
      } else if (is_first_round) {
        hit.num_tokens = search_full(pool, prefixes, groups, hit.num_tokens, hit);
      }
    }
    const bool has_one_window = specs_.size() <= (specs_[0].spec.sliding_window ? 1 : 2);
    if (has_one_window || hit.num_tokens == before) break;
  }
  for (const EqualGroups& groups : specs_) {
    for (const std::int32_t group : groups.group_ids) {
      hit.blocks[group].resize(hit.num_tokens / *groups.spec.block_size);
    }
  }
  return hit;
}

std::int32_t PrefixSearch::search_full(const BlockPool& pool,
                                       std::span<const PrefixId> prefixes,
                                       const EqualGroups& groups,
                                       std::int32_t max_tokens,
                                       PrefixHit& hit) {
  const std::int32_t max_blocks = max_tokens / *groups.spec.block_size;
  std::int32_t num_hit = 0;
  while (num_hit < max_blocks &&
         has_cached_blocks(pool, groups.prefix_of(prefixes, num_hit), groups.group_ids)) {
    ++num_hit;
  }
  num_hit -= num_hit % groups.blocks_per_stretch;
  for (const std::int32_t group : groups.group_ids) {
    hit.blocks[group].resize(num_hit);
    for (std::int32_t block = 0; block < num_hit; ++block) {
      hit.blocks[group][block] = pool.get_cached_block(groups.prefix_of(prefixes, block), group);
    }
  }
  return num_hit * *groups.spec.block_size;
}

std::int32_t PrefixSearch::search_window(const BlockPool& pool,
                                         std::span<const PrefixId> prefixes,
                                         const EqualGroups& groups,
                                         std::int32_t max_tokens,
                                         PrefixHit& hit) {
  // The next query sees window - 1 earlier keys: that many blocks in a row are enough, whatever lies
  // before them. The rightmost such run saves most. It has to end with a stretch.
  const std::int32_t block_size = *groups.spec.block_size;
  const std::int32_t run_needed = ceil_div(*groups.spec.sliding_window - 1, block_size);
  std::int32_t run = 0;
  std::int32_t first = max_tokens / block_size;  // of the run, once it is found; else 0
  while (first > 0) {
    const bool may_end_here = first % groups.blocks_per_stretch == 0;
    --first;
    if (run == 0 && !may_end_here) continue;
    if (!has_cached_blocks(pool, groups.prefix_of(prefixes, first), groups.group_ids)) {
      run = 0;
    } else if (++run >= run_needed) {
      break;
    }
  }
  // A scan that came to the beginning leaves the leading run, which may be shorter than needed:
  // there is nothing before it that a query could miss.
  for (const std::int32_t group : groups.group_ids) {
    hit.blocks[group].assign(first + run, kNullBlock);
    for (std::int32_t block = first; block < first + run; ++block) {
      hit.blocks[group][block] = pool.get_cached_block(groups.prefix_of(prefixes, block), group);
    }
  }
  return (first + run) * block_size;
}

}  // namespace pagelab
