/// \file
/// Which blocks of the pool nobody uses. Block 0 is the null block, which the engine keeps for
/// itself: it is counted in the pool's size and never handed out.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace pagelab {

/// A queue of free blocks: taken from the front, given back at the end.
class FreeBlocks {
 public:
  /// The block that padding points to and nobody owns.
  /// \source vLLM v1/core/block_pool.py, null_block
  static constexpr std::int32_t kNullBlock = 0;

  /// \param num_blocks  the whole pool, null block included; 2 or more
  /// \param order_seed  shuffles the queue; absent: 1, 2, 3, ...
  /// \throws Error      if num_blocks is less than 2 or more than block ids can count
  explicit FreeBlocks(std::int64_t num_blocks, std::optional<std::uint64_t> order_seed = {});

  /// Blocks that can be taken.
  std::int64_t num_free() const { return static_cast<std::int64_t>(queue_.size()); }
  /// Blocks that a single owner could ever have: all but the null block.
  std::int64_t num_usable() const { return static_cast<std::int64_t>(is_free_.size()) - 1; }

  /// Takes blocks.
  /// \throws Error  if there are not as many
  std::vector<std::int32_t> take(std::int64_t count);

  /// Gives blocks back.
  /// \throws Error  for a block that is free already, or was never in the pool
  void give_back(const std::vector<std::int32_t>& blocks);

 private:
  std::deque<std::int32_t> queue_;
  std::vector<bool> is_free_;  // by block; the null block never is
};

}  // namespace pagelab
