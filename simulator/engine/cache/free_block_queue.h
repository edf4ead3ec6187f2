/// \file
/// The queue of free blocks: a doubly linked list through two arrays of indices. Taking from the
/// front, giving back at either end and unlinking in the middle (a prefix hit on a free block) each
/// touch a constant number of entries, and no node is ever allocated.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/engine/block_id.h"

namespace pagelab {

/// Free blocks, those to be handed out next in front.
///
///     order 3 → 1 → 4 of a pool of 5; the entry past the last block joins both ends:
///     index   0    1   2   3   4   5 (ends)
///     next    out  4  out  1   5   3
///     prev    out  3  out  5   1   4
/// \source vLLM v1/core/kv_cache_utils.py, FreeKVCacheBlockQueue
class FreeBlockQueue {
 public:
  /// All blocks are free: 0, 1, …, num_blocks − 1 from front to back.
  explicit FreeBlockQueue(std::int32_t num_blocks);

  /// How many blocks are free.
  std::int32_t size() const { return size_; }
  /// Whether this block is in the queue.
  bool contains(BlockId block) const { return next_[block] != kNotInQueue; }
  /// The block to be handed out next; the queue must not be empty.
  BlockId front() const { return next_[ends_]; }

  /// Takes the front block out; the queue must not be empty.
  BlockId pop_front() {
    const BlockId block = front();
    remove(block);
    return block;
  }

  /// Takes a block out, wherever it is; it must be in the queue.
  void remove(BlockId block) {
    next_[prev_[block]] = next_[block];
    prev_[next_[block]] = prev_[block];
    next_[block] = prev_[block] = kNotInQueue;
    --size_;
  }

  /// Adds a block that is not in the queue behind all others.
  void push_back(BlockId block) { insert_before(ends_, block); }
  /// Adds blocks that are not in the queue in front of all others, keeping their order.
  void push_front(std::span<const BlockId> blocks);

  /// The whole queue, front first.
  std::vector<BlockId> to_vector() const;

 private:
  static constexpr std::int32_t kNotInQueue = -1;

  void insert_before(std::int32_t place, BlockId block) {
    const std::int32_t before = prev_[place];
    next_[before] = block;
    prev_[block] = before;
    next_[block] = place;
    prev_[place] = block;
    ++size_;
  }

  std::int32_t ends_;  // the entry past the last block: after the back, before the front
  std::int32_t size_;
  std::vector<std::int32_t> next_;  // [num_blocks + 1]
  std::vector<std::int32_t> prev_;  // [num_blocks + 1]
};

}  // namespace pagelab
