#include "gpu/backends/flex_block_mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "gpu/kernels/flex/params.h"
#include "reference/cache/block_table.h"
#include "reference/contract/error.h"

namespace pagelab {
namespace {

// "This block is not in the list."
constexpr std::int32_t kNotListed = -1;

class BlockMaskBuilder {
 public:
  BlockMaskBuilder(const CommonAttentionMetadata& metadata,
                   std::int64_t num_heads,
                   std::int64_t block_size,
                   std::int64_t num_blocks,
                   const HostMask& mask)
      : metadata_(metadata),
        num_heads_(num_heads),
        block_size_(block_size),
        mask_(mask),
        place_in_list_(static_cast<std::size_t>(num_blocks), kNotListed) {}

  BlockMask build(std::int64_t num_tokens) {
    for (std::int64_t req_idx = 0; req_idx < metadata_.num_reqs(); ++req_idx) {
      add_request(req_idx);
    }
    while (num_rows_ < num_tokens) {
      add_rows(std::min(free_rows(), num_tokens - num_rows_), {});  // padding visits nothing
    }
    if (num_rows_ > mask_of_batch_.group_start.back()) close_group();
    pad_lists();
    return std::move(mask_of_batch_);
  }

 private:
  // Rows that still fit into the open group; closes it if there are none.
  std::int64_t free_rows() {
    if (num_rows_ - mask_of_batch_.group_start.back() == kFlexRows) close_group();
    return kFlexRows - (num_rows_ - mask_of_batch_.group_start.back());
  }

  void add_request(std::int64_t req_idx) {
    const std::int64_t end = metadata_.query_start_loc[req_idx + 1];
    while (num_rows_ < end) {
      std::int64_t count = std::min(free_rows(), end - num_rows_);
      std::vector<std::int32_t> blocks = visible_blocks(req_idx, count);
      if (!keeps_order(blocks)) {
        close_group();
        count = std::min(free_rows(), end - num_rows_);
        blocks = visible_blocks(req_idx, count);
      }
      add_rows(count, blocks);
    }
  }

  // The blocks that the next rows see, all of one request, in logical order.
  std::vector<std::int32_t> visible_blocks(std::int64_t req_idx, std::int64_t count) const {
    const std::span<const std::int32_t> blocks = metadata_.block_table.row(req_idx);
    const std::int64_t seq_len = metadata_.seq_lens[req_idx];
    std::vector<std::int32_t> visible;
    for (std::int64_t first = 0; first < seq_len; first += block_size_) {
      const std::int64_t end = std::min(first + block_size_, seq_len);
      if (sees_any(req_idx, count, first, end)) {
        visible.push_back(blocks[static_cast<std::size_t>(first / block_size_)]);
      }
    }
    return visible;
  }

  bool sees_any(std::int64_t req_idx,
                std::int64_t count,
                std::int64_t first_key,
                std::int64_t end_of_keys) const {
    // As in query_row.h: the last query has the position of the last key.
    const std::int64_t end_of_request = metadata_.query_start_loc[req_idx + 1];
    const std::int64_t first_position = metadata_.seq_lens[req_idx] - (end_of_request - num_rows_);
    for (std::int64_t head_idx = 0; head_idx < num_heads_; ++head_idx) {
      for (std::int64_t row = 0; row < count; ++row) {
        for (std::int64_t key = first_key; key < end_of_keys; ++key) {
          if (mask_({req_idx, head_idx, first_position + row, key})) return true;
        }
      }
    }
    return false;
  }

  // Whether blocks come out in this order if those that are not yet listed are put at the end of the list.
  bool keeps_order(const std::vector<std::int32_t>& blocks) const {
    std::int32_t last_place = kNotListed;
    bool is_past_the_list = false;
    for (const std::int32_t block : blocks) {
      const std::int32_t place = place_in_list_[static_cast<std::size_t>(block)];
      if (place == kNotListed) {
        is_past_the_list = true;
      } else if (is_past_the_list || place < last_place) {
        return false;
      } else {
        last_place = place;
      }
    }
    return true;
  }

  void add_rows(std::int64_t count, const std::vector<std::int32_t>& blocks) {
    for (const std::int32_t block : blocks) {
      std::int32_t& place = place_in_list_[static_cast<std::size_t>(block)];
      if (place != kNotListed) continue;
      place = static_cast<std::int32_t>(list_.size());
      list_.push_back(block);
    }
    num_rows_ += count;
  }

  void close_group() {
    mask_of_batch_.group_start.push_back(static_cast<std::int32_t>(num_rows_));
    mask_of_batch_.kv_num_blocks.push_back(static_cast<std::int32_t>(list_.size()));
    for (const std::int32_t block : list_) {
      place_in_list_[static_cast<std::size_t>(block)] = kNotListed;
    }
    lists_.push_back(std::move(list_));
    list_.clear();
  }

  void pad_lists() {
    std::size_t longest = 0;
    for (const std::vector<std::int32_t>& list : lists_) longest = std::max(longest, list.size());
    for (std::vector<std::int32_t>& list : lists_) {
      list.resize(longest, -1);
      mask_of_batch_.kv_indices.insert(mask_of_batch_.kv_indices.end(), list.begin(), list.end());
    }
    mask_of_batch_.max_blocks_per_group = static_cast<std::int64_t>(longest);
  }

  const CommonAttentionMetadata& metadata_;
  std::int64_t num_heads_;
  std::int64_t block_size_;
  const HostMask& mask_;
  BlockMask mask_of_batch_;
  std::vector<std::vector<std::int32_t>> lists_;  // of the closed groups
  std::vector<std::int32_t> list_;                // of the open group
  std::vector<std::int32_t> place_in_list_;       // [num_blocks] of the open group, or kNotListed
  std::int64_t num_rows_ = 0;                     // that have a group
};

}  // namespace

std::vector<std::int32_t> physical_to_logical(const CommonAttentionMetadata& metadata,
                                              std::int64_t block_size,
                                              std::int64_t num_blocks) {
  std::vector<std::int32_t> inverse(static_cast<std::size_t>(metadata.num_reqs() * num_blocks),
                                    kNoLogicalBlock);
  for (std::int64_t req_idx = 0; req_idx < metadata.num_reqs(); ++req_idx) {
    const std::span<const std::int32_t> blocks = metadata.block_table.row(req_idx);
    const std::int64_t num_used = blocks_for_tokens(metadata.seq_lens[req_idx], block_size);
    for (std::int64_t logical_block = 0; logical_block < num_used; ++logical_block) {
      const std::int32_t block = blocks[static_cast<std::size_t>(logical_block)];
      std::int32_t& entry = inverse[static_cast<std::size_t>(req_idx * num_blocks + block)];
      if (entry != kNoLogicalBlock) {
        throw Error(fmt::format(
            "FLEX_ATTENTION: block_table[{0}][{1}] and block_table[{0}][{2}] are both {3}, but "
            "its inverse has room for one logical block a physical one. NAIVE takes such tables.",
            req_idx, entry, logical_block, block));
      }
      entry = static_cast<std::int32_t>(logical_block);
    }
  }
  return inverse;
}

BlockMask build_block_mask(const CommonAttentionMetadata& metadata,
                           std::int64_t num_tokens,
                           std::int64_t num_heads,
                           std::int64_t block_size,
                           std::int64_t num_blocks,
                           const HostMask& mask) {
  return BlockMaskBuilder(metadata, num_heads, block_size, num_blocks, mask).build(num_tokens);
}

}  // namespace pagelab
