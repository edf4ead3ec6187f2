/// \file
/// The pool of physical blocks that all requests share: which are free and in which order they are
/// handed out, how many requests use each, and which prefix each full one holds. What a block's
/// content means to a request is the manager's business (kv_cache_manager.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/cache/block_table.h"
#include "simulator/engine/cache/free_block_queue.h"
#include "simulator/engine/cache/prefix_table.h"

namespace pagelab {

/// What the pool knows of one block. The prefix together with the cache group is its key; blocks of
/// the same key are joined in a ring, in the order in which they were cached.
struct KVCacheBlock {
  std::int32_t ref_cnt = 0;            ///< requests whose tables hold it
  PrefixId prefix = kNoPrefix;         ///< what it holds; kNoPrefix: it is not in the cache map
  std::int32_t group = 0;              ///< cache group of the key
  BlockId next_of_key = kNoBlock;      ///< in the ring of its key
  BlockId previous_of_key = kNoBlock;  ///< the first one's is the last one
};

/// Blocks, their free queue and the prefix cache map.
/// \source vLLM v1/core/block_pool.py, BlockPool
class BlockPool {
 public:
  /// \param num_blocks      blocks, the null block included; at least 2
  /// \param num_groups      cache groups, at least 1
  /// \param enable_caching  whether blocks get keys
  /// \throws Error          if a number is out of range
  BlockPool(std::int32_t num_blocks, std::int32_t num_groups, bool enable_caching);

  /// Blocks in all, the null block included.
  std::int32_t num_blocks() const { return static_cast<std::int32_t>(blocks_.size()); }
  /// Blocks that could be handed out now.
  std::int32_t num_free_blocks() const { return free_queue_.size(); }
  /// Share of the pool in use, from 0 to 1; the null block does not count.
  double usage() const;
  /// Different keys in the cache map.
  std::int32_t num_cached_keys() const { return num_cached_keys_; }
  /// One block.
  const KVCacheBlock& block(BlockId id) const { return blocks_[id]; }
  /// The free blocks, the next to be handed out in front.
  const FreeBlockQueue& free_queue() const { return free_queue_; }

  /// Takes blocks from the front of the queue and appends them to a list; what they held is forgotten.
  /// \throws Error  if fewer are free; then nothing changes
  void get_new_blocks(std::int32_t num_blocks, std::vector<BlockId>& taken);

  /// One user of each block less. Those that nobody uses any more are free: blocks without a key go to
  /// the front of the queue in the list's order, those with one to the back.
  /// \throws Error  if a block is freed more often than it is used; then nothing changes
  void free_blocks(std::span<const BlockId> blocks);

  /// As free_blocks with the list reversed: a request's tail is evicted before its head, because a
  /// prefix without its head cannot be hit.
  void free_blocks_tail_first(std::span<const BlockId> blocks);

  /// One user of a block more; a free one leaves the queue.
  void touch(BlockId id);

  /// The first cached of the blocks that hold a prefix in a group; kNoBlock if none does.
  BlockId get_cached_block(PrefixId prefix, std::int32_t group) const {
    const std::size_t key = key_of(prefix, group);
    return key < first_of_key_.size() ? first_of_key_[key] : kNoBlock;
  }

  /// Enters a block without a key in the cache map. Nothing happens to the null block.
  void cache_block(BlockId id, PrefixId prefix, std::int32_t group);

  /// Removes blocks from the cache map; who uses them, and the queue, stay as they are.
  /// \throws Error  if there is no such block
  void evict_blocks(std::span<const BlockId> blocks);

  /// Empties the cache map, if no block is in use. \returns whether it did
  bool reset_prefix_cache();

 private:
  std::size_t key_of(PrefixId prefix, std::int32_t group) const {
    return static_cast<std::size_t>(prefix) * num_groups_ + group;
  }
  void remove_key(BlockId id);
  template <typename Iterator>
  void free_in_order(Iterator begin, Iterator end);
  template <typename Iterator>
  void undo_free(Iterator begin, Iterator end);

  std::int32_t num_groups_;
  bool enable_caching_;
  std::vector<KVCacheBlock> blocks_;  // [num_blocks]
  FreeBlockQueue free_queue_;
  std::vector<BlockId>
      first_of_key_;  // [prefixes seen, num_groups]: prefixes are numbered, so no hash
  std::int32_t num_cached_keys_ = 0;
  // Only within free_in_order; members, so that their memory is kept.
  std::vector<BlockId> freed_unhashed_;
  std::vector<BlockId> freed_hashed_;
};

/// "free [2 4 3*]; used [1*x2 5]": blocks with a key have a star, those with several users their number.
std::string to_string(const BlockPool& pool);

}  // namespace pagelab
