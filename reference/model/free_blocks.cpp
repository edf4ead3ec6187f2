#include "reference/model/free_blocks.h"

#include <fmt/format.h>

#include <limits>
#include <random>

#include "reference/contract/error.h"

namespace pagelab {

FreeBlocks::FreeBlocks(std::int64_t num_blocks, std::optional<std::uint64_t> order_seed) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (num_blocks < 2 || num_blocks > kMost) {
    throw Error(
        fmt::format("num_blocks is {}; it must be from 2 (the null block and one for "
                    "tokens) to {}.",
                    num_blocks, kMost));
  }
  is_free_.assign(static_cast<std::size_t>(num_blocks), true);
  is_free_[kNullBlock] = false;
  for (std::int64_t block = kNullBlock + 1; block < num_blocks; ++block) {
    queue_.push_back(static_cast<std::int32_t>(block));
  }
  if (order_seed.has_value()) {
    // Fisher and Yates, written out because std::shuffle may differ between libraries.
    std::mt19937_64 random(*order_seed);
    for (std::size_t i = queue_.size() - 1; i > 0; --i) {
      std::swap(queue_[i], queue_[random() % (i + 1)]);
    }
  }
}

std::vector<std::int32_t> FreeBlocks::take(std::int64_t count) {
  if (count > num_free()) {
    throw Error(fmt::format("{} blocks were asked for, but {} are free.", count, num_free()));
  }
  const std::vector<std::int32_t> taken(queue_.begin(), queue_.begin() + count);
  queue_.erase(queue_.begin(), queue_.begin() + count);
  for (std::int32_t block : taken) is_free_[block] = false;
  return taken;
}

void FreeBlocks::give_back(const std::vector<std::int32_t>& blocks) {
  for (std::int32_t block : blocks) {
    if (block <= kNullBlock || block > num_usable()) {
      throw Error(fmt::format("block {} was given back, but the pool hands out 1 to {}.", block,
                              num_usable()));
    }
    if (is_free_[block]) throw Error(fmt::format("block {} was given back twice.", block));
    is_free_[block] = true;
    queue_.push_back(block);
  }
}

}  // namespace pagelab
