#include "simulator/engine/cache/block_pool.h"

#include <fmt/format.h>

#include <algorithm>

#include "reference/contract/refuse.h"

namespace pagelab {
namespace {

std::int32_t checked_num_blocks(std::int32_t num_blocks) {
  if (num_blocks < 2) {
    refuse("num_blocks is {}; it must be at least 2, because the null block takes one.",
           num_blocks);
  }
  return num_blocks;
}

}  // namespace

BlockPool::BlockPool(std::int32_t num_blocks, std::int32_t num_groups, bool enable_caching)
    : num_groups_(num_groups),
      enable_caching_(enable_caching),
      blocks_(checked_num_blocks(num_blocks)),
      free_queue_(num_blocks) {
  if (num_groups < 1) refuse("there are {} cache groups; there must be at least 1.", num_groups);
  free_queue_.remove(kNullBlock);
}

double BlockPool::usage() const {
  return 1.0 - static_cast<double>(num_free_blocks()) / (num_blocks() - 1);
}

void BlockPool::get_new_blocks(std::int32_t num_blocks, std::vector<BlockId>& taken) {
  if (num_blocks > num_free_blocks()) {
    refuse("{} blocks are wanted, but only {} of the pool's {} are free.", num_blocks,
           num_free_blocks(), this->num_blocks() - 1);
  }
  for (std::int32_t count = 0; count < num_blocks; ++count) {
    const BlockId id = free_queue_.pop_front();
    // The index forgets the block and the block its key, in one step.
    remove_key(id);
    blocks_[id].ref_cnt = 1;
    taken.push_back(id);
  }
}

template <typename Iterator>
void BlockPool::free_in_order(Iterator begin, Iterator end) {
  freed_unhashed_.clear();
  freed_hashed_.clear();
  for (Iterator place = begin; place != end; ++place) {
    KVCacheBlock& block = blocks_[*place];
    if (*place == kNullBlock) continue;
    if (block.ref_cnt == 0) {
      undo_free(begin, place);
      refuse("block {} is freed more often than it is used; its users: {}.", *place, block.ref_cnt);
    }
    if (--block.ref_cnt > 0) continue;
    const bool is_hashed = enable_caching_ && block.prefix != kNoPrefix;
    (is_hashed ? freed_hashed_ : freed_unhashed_).push_back(*place);
  }
  free_queue_.push_front(freed_unhashed_);
  for (const BlockId id : freed_hashed_) free_queue_.push_back(id);
}

template <typename Iterator>
void BlockPool::undo_free(Iterator begin, Iterator end) {
  for (Iterator place = begin; place != end; ++place) {
    if (*place != kNullBlock) ++blocks_[*place].ref_cnt;
  }
}

void BlockPool::free_blocks(std::span<const BlockId> blocks) {
  free_in_order(blocks.begin(), blocks.end());
}

void BlockPool::free_blocks_tail_first(std::span<const BlockId> blocks) {
  free_in_order(blocks.rbegin(), blocks.rend());
}

void BlockPool::touch(BlockId id) {
  KVCacheBlock& block = blocks_[id];
  if (block.ref_cnt == 0 && id != kNullBlock) free_queue_.remove(id);
  ++block.ref_cnt;
}

void BlockPool::cache_block(BlockId id, PrefixId prefix, std::int32_t group) {
  if (id == kNullBlock || !enable_caching_) return;
  const std::size_t key = key_of(prefix, group);
  if (key >= first_of_key_.size()) {
    first_of_key_.resize(std::max(2 * first_of_key_.size(), key_of(prefix + 1, 0)), kNoBlock);
  }
  KVCacheBlock& block = blocks_[id];
  block.prefix = prefix;
  block.group = group;
  const BlockId first = first_of_key_[key];
  if (first == kNoBlock) {
    first_of_key_[key] = block.next_of_key = block.previous_of_key = id;
    ++num_cached_keys_;
    return;
  }
  // Behind the last one, which the first one knows.
  const BlockId last = blocks_[first].previous_of_key;
  block.next_of_key = first;
  block.previous_of_key = last;
  blocks_[last].next_of_key = blocks_[first].previous_of_key = id;
}

void BlockPool::remove_key(BlockId id) {
  KVCacheBlock& block = blocks_[id];
  if (block.prefix == kNoPrefix) return;
  BlockId& first = first_of_key_[key_of(block.prefix, block.group)];
  if (block.next_of_key == id) {
    first = kNoBlock;
    --num_cached_keys_;
  } else {
    blocks_[block.next_of_key].previous_of_key = block.previous_of_key;
    blocks_[block.previous_of_key].next_of_key = block.next_of_key;
    if (first == id) first = block.next_of_key;
  }
  block.prefix = kNoPrefix;
}

void BlockPool::evict_blocks(std::span<const BlockId> blocks) {
  for (const BlockId id : blocks) {
    if (id < 0 || id >= num_blocks()) {
      refuse("there is no block {} to evict; the pool has blocks 0 to {}.", id, num_blocks() - 1);
    }
  }
  for (const BlockId id : blocks) remove_key(id);
}

bool BlockPool::reset_prefix_cache() {
  const bool is_unused = num_free_blocks() == num_blocks() - 1;
  if (!is_unused) return false;
  for (KVCacheBlock& block : blocks_) block.prefix = kNoPrefix;
  std::fill(first_of_key_.begin(), first_of_key_.end(), kNoBlock);
  num_cached_keys_ = 0;
  return true;
}

std::string to_string(const BlockPool& pool) {
  const auto name_of = [&pool](BlockId id) {
    return fmt::format("{}{}", id, pool.block(id).prefix != kNoPrefix ? "*" : "");
  };
  std::vector<std::string> free, used;
  for (const BlockId id : pool.free_queue().to_vector()) free.push_back(name_of(id));
  for (BlockId id = kNullBlock + 1; id < pool.num_blocks(); ++id) {
    const std::int32_t num_users = pool.block(id).ref_cnt;
    if (num_users > 1) used.push_back(fmt::format("{}x{}", name_of(id), num_users));
    if (num_users == 1) used.push_back(name_of(id));
  }
  return fmt::format("free [{}]; used [{}]", fmt::join(free, " "), fmt::join(used, " "));
}

}  // namespace pagelab
