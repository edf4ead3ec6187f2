#include "simulator/engine/cache/kv_cache_manager.h"

#include <algorithm>
#include <cmath>

#include "reference/contract/refuse.h"
#include "simulator/engine/in_range.h"

namespace pagelab {
namespace {

const KVCacheConfig& validated(const KVCacheConfig& config) {
  validate(config);
  return config;
}

std::int32_t num_groups_of(const KVCacheConfig& config) {
  return static_cast<std::int32_t>(config.groups.size());
}

void check(const SlotsWanted& wanted, bool has_hit, const Request& request) {
  const std::int32_t fewest = has_hit ? 0 : 1;
  if (wanted.num_new_tokens < fewest) {
    refuse("request {} wants slots for {} tokens; it must want at least {}{}.", request.id,
           wanted.num_new_tokens, fewest, has_hit ? "" : ", having no hit to adopt");
  }
  require_in_range("num_new_tokens", wanted.num_new_tokens, fewest, kMostTokens);
  require_in_range("num_lookahead_tokens", wanted.num_lookahead_tokens, 0);
  require_in_range("num_reserved_blocks", wanted.num_reserved_blocks, 0, kMostTokens);
}

std::int32_t num_held(const GroupBlocks& group) {
  return static_cast<std::int32_t>(group.blocks.size());
}

// How many of a stretch's last blocks a hit at its end looks at.
std::int32_t num_blocks_looked_at(std::int32_t block_size,
                                  const KVCacheGroupSpec& spec,
                                  std::int32_t blocks_per_stretch) {
  if (!spec.sliding_window) return blocks_per_stretch;
  return ceil_div(*spec.sliding_window - 1, block_size);
}

}  // namespace

struct KVCacheManager::Room {
  const PrefixHit* hit;              // null: nothing to adopt
  std::int32_t num_computed_tokens;  // hits included
};

KVCacheManager::KVCacheManager(const KVCacheConfig& config, BlockHashFunction hash)
    : config_(validated(config)),
      hash_block_size_(hash_block_size(config)),
      scheduler_block_size_(scheduler_block_size(config)),
      pool_(config.num_blocks, num_groups_of(config), config.enable_caching),
      prefixes_(hash_block_size_, hash),
      search_(config_),
      watermark_blocks_(static_cast<std::int32_t>(config.watermark * config.num_blocks)) {}

void KVCacheManager::hash_full_blocks(Request& request) {
  if (config_.enable_caching) update_block_hashes(request, hash_block_size_, prefixes_);
}

PrefixHit KVCacheManager::get_computed_blocks(const Request& request) const {
  if (!config_.enable_caching || request.skip_reading_prefix_cache) {
    PrefixHit nothing;
    nothing.blocks.resize(config_.groups.size());
    return nothing;
  }
  return search_.find_longest_cache_hit(pool_, request.block_hashes, request.num_tokens() - 1);
}

std::optional<std::int32_t> KVCacheManager::allocate_slots(Request& request,
                                                           const SlotsWanted& wanted,
                                                           const PrefixHit* hit) {
  if (hit != nullptr && hit->num_tokens == 0) hit = nullptr;
  check(wanted, hit != nullptr, request);
  request.groups.resize(config_.groups.size());
  Room room;
  room.hit = hit;
  room.num_computed_tokens = std::min(
      request.num_computed_tokens + (hit == nullptr ? 0 : hit->num_tokens), config_.max_model_len);

  // Step 1: an admission leaves the watermark to those that run already.
  const bool is_admission = request.status != RequestStatus::kRunning;
  const std::int32_t watermark = is_admission && wanted.has_scheduled_reqs ? watermark_blocks_ : 0;

  // Step 2: all that is known of the request has to fit, if that is asked for.
  if (wanted.full_sequence_must_fit) {
    const std::int32_t num_tokens = std::min(request.num_tokens(), config_.max_model_len);
    const std::int32_t num_needed = num_blocks_to_allocate(request, room, num_tokens, true);
    if (num_needed + watermark > pool_.num_free_blocks()) return std::nullopt;
  }

  // Step 3: what a window has left behind is free, even if the rest fails.
  remove_skipped_blocks(request,
                        std::max(0, room.num_computed_tokens - request.num_in_flight_tokens));

  // Step 4: this step's tokens have to fit.
  const std::int32_t num_slots =
      std::min(room.num_computed_tokens + wanted.num_new_tokens + wanted.num_lookahead_tokens,
               config_.max_model_len);
  const std::int32_t num_needed = num_blocks_to_allocate(request, room, num_slots, false);
  if (num_needed + watermark > pool_.num_free_blocks() - wanted.num_reserved_blocks) {
    return std::nullopt;
  }

  // Step 5: hits become the request's own, in every group before any group takes new blocks.
  const bool held_nothing = request.groups[0].blocks.empty();
  if (hit != nullptr) adopt(request, *hit, room.num_computed_tokens);

  // Step 6: new blocks. Every group's table has an entry for each block of the sequence.
  const std::int32_t num_new = append_new_blocks(request, num_slots);
  if (held_nothing && !request.groups[0].blocks.empty()) ++num_requests_with_blocks_;

  // Step 7: full blocks get their keys; drafts may be rejected, so they are not counted.
  cache_blocks(request,
               std::min(room.num_computed_tokens + wanted.num_new_tokens, request.num_tokens()));
  return num_new;
}

std::int32_t KVCacheManager::append_new_blocks(Request& request, std::int32_t num_slots) {
  std::int32_t num_new = 0;
  for (std::size_t index = 0; index < config_.groups.size(); ++index) {
    GroupBlocks& group = request.groups[index];
    const std::int32_t num_required =
        ceil_div(num_slots, block_size_of(config_, config_.groups[index]));
    group.num_new_blocks = std::max(0, num_required - num_held(group));
    if (group.num_new_blocks > 0) pool_.get_new_blocks(group.num_new_blocks, group.blocks);
    num_new += group.num_new_blocks;
  }
  return num_new;
}

// Blocks that leave the free queue if the request is to have slots for its first num_tokens.
std::int32_t KVCacheManager::num_blocks_to_allocate(const Request& request,
                                                    const Room& room,
                                                    std::int32_t num_tokens,
                                                    bool whole_sequence) const {
  std::int32_t num_needed = 0;
  for (std::size_t index = 0; index < config_.groups.size(); ++index) {
    const KVCacheGroupSpec& spec = config_.groups[index];
    const std::int32_t block_size = block_size_of(config_, spec);
    const std::int32_t held = num_held(request.groups[index]);
    const std::int32_t num_required = whole_sequence
                                          ? pagelab::max_blocks_needed(config_, spec, num_tokens)
                                          : ceil_div(num_tokens, block_size);
    if (room.hit == nullptr) {
      num_needed += std::max(0, num_required - held);
      continue;
    }
    const std::vector<BlockId>& hits = room.hit->blocks[index];
    const auto num_hits = static_cast<std::int32_t>(hits.size());
    const std::int32_t skipped = num_skipped_blocks(block_size, spec, room.num_computed_tokens);
    num_needed += std::max(0, num_required - std::max(skipped, num_hits + held));
    // A hit that nobody uses leaves the queue, too.
    for (std::int32_t block = skipped; block < num_hits; ++block) {
      const bool is_free = hits[block] != kNullBlock && pool_.block(hits[block]).ref_cnt == 0;
      num_needed += is_free ? 1 : 0;
    }
  }
  return num_needed;
}

void KVCacheManager::adopt(Request& request,
                           const PrefixHit& hit,
                           std::int32_t num_computed_tokens) {
  for (std::size_t index = 0; index < config_.groups.size(); ++index) {
    GroupBlocks& group = request.groups[index];
    if (!group.blocks.empty()) {
      refuse("request {} holds {} blocks already and cannot adopt a hit.", request.id,
             group.blocks.size());
    }
    group.blocks.assign(hit.blocks[index].begin(), hit.blocks[index].end());
    const KVCacheGroupSpec& spec = config_.groups[index];
    const std::int32_t skipped =
        std::min(num_skipped_blocks(block_size_of(config_, spec), spec, num_computed_tokens),
                 num_held(group));
    std::fill_n(group.blocks.begin(), skipped, kNullBlock);
    for (const BlockId block : group.blocks) {
      if (block != kNullBlock) pool_.touch(block);
    }
    group.num_cached_blocks = num_held(group);
  }
}

void KVCacheManager::free(Request& request) {
  if (!request.groups.empty() && !request.groups[0].blocks.empty()) --num_requests_with_blocks_;
  for (GroupBlocks& group : request.groups) {
    pool_.free_blocks_tail_first(group.blocks);
    group.blocks.clear();
    group.num_cached_blocks = 0;
    group.num_new_blocks = 0;
  }
}

void KVCacheManager::remove_skipped_blocks(Request& request, std::int32_t num_computed_tokens) {
  for (std::size_t index = 0; index < request.groups.size(); ++index) {
    std::vector<BlockId>& blocks = request.groups[index].blocks;
    const KVCacheGroupSpec& spec = config_.groups[index];
    const std::int32_t skipped =
        std::min(num_skipped_blocks(block_size_of(config_, spec), spec, num_computed_tokens),
                 static_cast<std::int32_t>(blocks.size()));
    // From the right to the first that was skipped before.
    std::int32_t first = skipped;
    while (first > 0 && blocks[first - 1] != kNullBlock) --first;
    if (first == skipped) continue;
    pool_.free_blocks_tail_first(std::span(blocks).subspan(first, skipped - first));
    std::fill(blocks.begin() + first, blocks.begin() + skipped, kNullBlock);
  }
}

void KVCacheManager::cache_blocks(Request& request, std::int32_t num_tokens) {
  if (!config_.enable_caching) return;
  const std::int32_t num_whole = num_tokens / scheduler_block_size_ * scheduler_block_size_;
  for (std::size_t index = 0; index < request.groups.size(); ++index) {
    GroupBlocks& group = request.groups[index];
    const KVCacheGroupSpec& spec = config_.groups[index];
    const std::int32_t block_size = block_size_of(config_, spec);
    const std::int32_t num_full = num_whole / block_size;
    if (num_full <= group.num_cached_blocks) continue;
    const std::int32_t names_per_block = block_size / hash_block_size_;
    if (num_full > num_held(group) ||
        num_full * names_per_block > static_cast<std::int32_t>(request.block_hashes.size())) {
      refuse("{} tokens of request {} are to be cached, but it holds {} blocks and {} full ones.",
             num_tokens, request.id, num_held(group),
             request.block_hashes.size() / names_per_block);
    }
    // A hit ends with a stretch. Of a window, blocks that no such hit looks at are not worth a key; a window of one
    // key never looks back.
    const std::int32_t blocks_per_stretch = scheduler_block_size_ / block_size;
    const std::int32_t num_looked_at = num_blocks_looked_at(block_size, spec, blocks_per_stretch);
    for (std::int32_t block = group.num_cached_blocks; block < num_full; ++block) {
      if (blocks_per_stretch - block % blocks_per_stretch > num_looked_at) continue;
      pool_.cache_block(group.blocks[block],
                        request.block_hashes[(block + 1) * names_per_block - 1],
                        static_cast<std::int32_t>(index));
    }
    group.num_cached_blocks = num_full;
  }
}

std::int32_t KVCacheManager::get_num_common_prefix_blocks(const Request& request) const {
  if (config_.groups[0].sliding_window || request.groups.empty()) return 0;
  std::int32_t num_common = 0;
  for (const BlockId block : request.groups[0].blocks) {
    if (pool_.block(block).ref_cnt != num_requests_with_blocks_) break;
    ++num_common;
  }
  return num_common;
}

std::int32_t KVCacheManager::max_blocks_needed(std::int32_t num_tokens) const {
  std::int32_t num_needed = 0;
  for (const KVCacheGroupSpec& spec : config_.groups) {
    num_needed += pagelab::max_blocks_needed(config_, spec, num_tokens);
  }
  return num_needed;
}

std::int32_t common_prefix_by_tables(std::span<const Request* const> requests) {
  if (requests.empty()) return 0;
  const auto table_of = [](const Request& request) {
    return request.groups.empty() ? std::span<const BlockId>() : request.groups[0].blocks;
  };
  const std::span<const BlockId> first = table_of(*requests[0]);
  std::size_t num_common = first.size();
  for (const Request* request : requests.subspan(1)) {
    const std::span<const BlockId> other = table_of(*request);
    const auto end = first.begin() + std::min(num_common, other.size());
    num_common = std::mismatch(first.begin(), end, other.begin()).first - first.begin();
  }
  return static_cast<std::int32_t>(num_common);
}

}  // namespace pagelab
