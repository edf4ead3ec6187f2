#include "tests/simulator/engine/invariants/invariants.h"

#include <fmt/format.h>

#include <algorithm>

namespace pagelab::test {
namespace {

// Of the tokens that a block and all before it hold. FNV-1a.
std::uint64_t fingerprint(const Request& request, std::int32_t num_tokens) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (std::int32_t index = 0; index < num_tokens; ++index) {
    hash = (hash ^ static_cast<std::uint32_t>(request.tokens[index])) * 0x100000001b3u;
  }
  return hash;
}

// The prefix that a block of a group ends; none if the block is not full.
PrefixId prefix_of(const KVCacheConfig& config,
                   const Request& request,
                   std::size_t group,
                   std::size_t logical_block) {
  const std::int32_t block_size = block_size_of(config, config.groups[group]);
  const std::size_t end = (logical_block + 1) * block_size / hash_block_size(config);
  return end <= request.block_hashes.size() ? request.block_hashes[end - 1] : kNoPrefix;
}

}  // namespace

InvariantCheck::InvariantCheck(const KVCacheManager& manager)
    : manager_(manager),
      uses_(manager.pool().num_blocks()),
      contents_(manager.pool().num_blocks()),
      is_seen_(manager.pool().num_blocks()) {}

std::string InvariantCheck::broken(std::span<const Request* const> requests) {
  std::string sentence = count_uses(requests);
  if (sentence.empty()) sentence = check_queue();
  if (sentence.empty()) sentence = check_keys();
  return sentence;
}

// Reference counts are what the tables say, and only equal prefixes share.
std::string InvariantCheck::count_uses(std::span<const Request* const> requests) {
  uses_.assign(uses_.size(), Use());
  std::int32_t num_with_blocks = 0;
  for (const Request* request : requests) {
    if (!request->groups.empty() && !request->groups[0].blocks.empty()) ++num_with_blocks;
    for (std::size_t group = 0; group < request->groups.size(); ++group) {
      const std::vector<BlockId>& blocks = request->groups[group].blocks;
      for (std::size_t logical = 0; logical < blocks.size(); ++logical) {
        if (blocks[logical] == kNullBlock) continue;
        Use& use = uses_[blocks[logical]];
        if (use.count++ == 0) {
          use.group = static_cast<std::int32_t>(group);
          use.logical_block = static_cast<std::int32_t>(logical);
          use.request = request;
          continue;
        }
        const bool is_shared_prefix =
            use.request != request && use.group == static_cast<std::int32_t>(group) &&
            use.logical_block == static_cast<std::int32_t>(logical) &&
            prefix_of(manager_.config(), *request, group, logical) != kNoPrefix &&
            prefix_of(manager_.config(), *request, group, logical) ==
                prefix_of(manager_.config(), *use.request, group, logical);
        if (!is_shared_prefix) {
          return fmt::format(
              "block {} is in the tables of requests {} and {}, which do not share it",
              blocks[logical], use.request->id, request->id);
        }
      }
    }
  }
  for (BlockId id = 1; id < manager_.pool().num_blocks(); ++id) {
    if (manager_.pool().block(id).ref_cnt != uses_[id].count) {
      return fmt::format("block {} has reference count {}, but is in {} tables", id,
                         manager_.pool().block(id).ref_cnt, uses_[id].count);
    }
  }
  if (num_with_blocks != manager_.num_requests_with_blocks()) {
    return fmt::format("{} requests hold blocks, but {} are counted", num_with_blocks,
                       manager_.num_requests_with_blocks());
  }
  return "";
}

// The queue holds every block that nobody uses, once, and nothing else.
std::string InvariantCheck::check_queue() {
  const BlockPool& pool = manager_.pool();
  is_seen_.assign(is_seen_.size(), 0);
  std::int32_t num_queued = 0;
  for (const BlockId id : pool.free_queue().to_vector()) {
    if (id <= kNullBlock || id >= pool.num_blocks()) return fmt::format("block {} is queued", id);
    if (is_seen_[id]++ != 0) return fmt::format("block {} is queued twice", id);
    if (uses_[id].count != 0) return fmt::format("block {} is free and in use", id);
    ++num_queued;
  }
  std::int32_t num_used = 0;
  for (const Use& use : uses_) num_used += use.count > 0 ? 1 : 0;
  if (num_queued != pool.num_free_blocks() || num_queued + num_used != pool.num_blocks() - 1) {
    return fmt::format("{} blocks are queued, {} counted as free, {} used, of {}", num_queued,
                       pool.num_free_blocks(), num_used, pool.num_blocks() - 1);
  }
  return "";
}

// A block with a key is found by it, or stands behind another of the same key.
std::string InvariantCheck::check_keys() {
  const BlockPool& pool = manager_.pool();
  std::int32_t num_keys = 0;
  for (BlockId id = 1; id < pool.num_blocks(); ++id) {
    const KVCacheBlock& block = pool.block(id);
    if (block.prefix == kNoPrefix) continue;
    const BlockId first = pool.get_cached_block(block.prefix, block.group);
    const bool is_found = first != kNoBlock && pool.block(first).prefix == block.prefix &&
                          pool.block(first).group == block.group;
    if (!is_found) return fmt::format("block {} has a key by which it is not found", id);
    num_keys += first == id ? 1 : 0;
  }
  if (num_keys != pool.num_cached_keys()) {
    return fmt::format("{} keys lead to blocks, but {} are counted", num_keys,
                       pool.num_cached_keys());
  }
  return "";
}

std::string InvariantCheck::wrong_hit(const Request& request, const PrefixHit& hit) const {
  const KVCacheConfig& config = manager_.config();
  if (hit.num_tokens >= request.num_tokens()) return "a hit leaves no token to compute";
  const std::int32_t longest = longest_hit(request);
  if (hit.num_tokens != longest) {
    return fmt::format("request {} hits {} tokens, but {} are there", request.id, hit.num_tokens,
                       longest);
  }
  for (std::size_t group = 0; group < hit.blocks.size(); ++group) {
    const std::vector<BlockId>& blocks = hit.blocks[group];
    const std::int32_t block_size = block_size_of(config, config.groups[group]);
    if (static_cast<std::int32_t>(blocks.size()) * block_size != hit.num_tokens) {
      return fmt::format("a hit of {} tokens has {} blocks of {}", hit.num_tokens, blocks.size(),
                         block_size);
    }
    for (std::size_t logical = 0; logical < blocks.size(); ++logical) {
      const auto end = static_cast<std::int32_t>(logical + 1) * block_size;
      if (blocks[logical] == kNullBlock) continue;
      if (contents_[blocks[logical]] != fingerprint(request, end)) {
        return fmt::format("request {} hits block {}, which does not hold its tokens to {}",
                           request.id, blocks[logical], end);
      }
    }
  }
  return "";
}

// Length after length, from the longest: whether every group has what the next query would look at.
std::int32_t InvariantCheck::longest_hit(const Request& request) const {
  const KVCacheConfig& config = manager_.config();
  if (!config.enable_caching) return 0;
  const std::int32_t stretch = scheduler_block_size(config);
  const auto has_all = [&](std::size_t group, std::int32_t num_tokens) {
    const KVCacheGroupSpec& spec = config.groups[group];
    const std::int32_t block_size = block_size_of(config, spec);
    const std::int32_t end = num_tokens / block_size;
    // A window of one key looks at none, and still a hit has to find its last block.
    const std::int32_t num_needed =
        spec.sliding_window ? std::max(1, ceil_div(*spec.sliding_window - 1, block_size)) : end;
    for (std::int32_t block = std::max(0, end - num_needed); block < end; ++block) {
      const PrefixId prefix = prefix_of(config, request, group, block);
      const auto group_id = static_cast<std::int32_t>(group);
      if (manager_.pool().get_cached_block(prefix, group_id) == kNoBlock) return false;
    }
    return true;
  };
  std::int32_t num_tokens = (request.num_tokens() - 1) / stretch * stretch;
  for (; num_tokens > 0; num_tokens -= stretch) {
    bool is_hit = true;
    for (std::size_t group = 0; group < config.groups.size(); ++group) {
      is_hit = is_hit && has_all(group, num_tokens);
    }
    if (is_hit) break;
  }
  return num_tokens;
}

void InvariantCheck::note_contents(const Request& request) {
  const KVCacheConfig& config = manager_.config();
  for (std::size_t index = 0; index < request.groups.size(); ++index) {
    const GroupBlocks& group = request.groups[index];
    const std::int32_t block_size = block_size_of(config, config.groups[index]);
    for (std::size_t logical = 0; logical < group.blocks.size(); ++logical) {
      const auto end = static_cast<std::int32_t>(logical + 1) * block_size;
      if (end > request.num_tokens() || group.blocks[logical] == kNullBlock) continue;
      contents_[group.blocks[logical]] = fingerprint(request, end);
    }
  }
}

}  // namespace pagelab::test
