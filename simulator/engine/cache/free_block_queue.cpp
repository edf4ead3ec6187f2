#include "simulator/engine/cache/free_block_queue.h"

namespace pagelab {

FreeBlockQueue::FreeBlockQueue(std::int32_t num_blocks)
    : ends_(num_blocks), size_(num_blocks), next_(num_blocks + 1), prev_(num_blocks + 1) {
  for (std::int32_t entry = 0; entry <= num_blocks; ++entry) {
    next_[entry] = entry == ends_ ? 0 : entry + 1;
    prev_[entry] = entry == 0 ? ends_ : entry - 1;
  }
}

void FreeBlockQueue::push_front(std::span<const BlockId> blocks) {
  const std::int32_t old_front = next_[ends_];
  for (const BlockId block : blocks) insert_before(old_front, block);
}

std::vector<BlockId> FreeBlockQueue::to_vector() const {
  std::vector<BlockId> blocks;
  blocks.reserve(size_);
  for (std::int32_t block = next_[ends_]; block != ends_; block = next_[block]) {
    blocks.push_back(block);
  }
  return blocks;
}

}  // namespace pagelab
