/// \file
/// The metadata of FLEX_ATTENTION, built on the host: the inverse block table, which turns a physical position
/// into a logical one, and the block mask, which lists the blocks that a group of query rows must visit.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "gpu/kernels/flex/modifiers.h"
#include "reference/contract/attention_step.h"

namespace pagelab {

/// A mask_mod on the host.
using HostMask = std::function<bool(const FlexPair& pair)>;

/// Which logical block of a request each physical block is:
///
///     block_table [[2, 0], [3, −1]], seq_lens [6, 3], block_size 4  →  [[1, −1, 0, −1], [−1, −1, −1, 0]]
///
/// \param metadata    the batch; of each row of the table, only what its sequence fills is read
/// \param block_size  tokens a block
/// \param num_blocks  of the cache
/// \returns           [num_reqs, num_blocks], kNoLogicalBlock where the request has no such block
/// \throws Error      if a request has a block twice: a physical position would have two logical ones
/// \source            vLLM, v1/attention/backends/flex_attention.py, physical_to_logical_mapping
std::vector<std::int32_t> physical_to_logical(const CommonAttentionMetadata& metadata,
                                              std::int64_t block_size,
                                              std::int64_t num_blocks);

/// The blocks to visit, a list a group of neighbouring query rows.
struct BlockMask {
  std::vector<std::int32_t> group_start = {0};  ///< [num_groups + 1] first row of each group
  std::vector<std::int32_t> kv_num_blocks;      ///< [num_groups] length of each list
  std::vector<std::int32_t> kv_indices;         ///< [num_groups, max_blocks_per_group], rest −1
  std::int64_t max_blocks_per_group = 0;        ///< the longest list

  /// Lists.
  std::int64_t num_groups() const { return static_cast<std::int64_t>(kv_num_blocks.size()); }
};

/// The block mask of a batch, exactly: a block is listed where the mask shows one of its keys to a row of the
/// group. The blocks of each row stand in its own logical order, those that several requests have but once.
/// Groups have 16 rows, or fewer where requests have common blocks in orders that no list can keep.
/// \param metadata    the batch
/// \param num_tokens  rows, padding included
/// \param num_heads   query heads to ask the mask for: 1 if it is the same for all
/// \param block_size  tokens a block
/// \param num_blocks  of the cache
/// \param mask        which pairs there are
/// \source            vLLM, v1/attention/backends/flex_attention.py, _build_block_mask_direct. Differs: it
///                    looks at causality and window alone, and keeps the order of first occurrence
BlockMask build_block_mask(const CommonAttentionMetadata& metadata,
                           std::int64_t num_tokens,
                           std::int64_t num_heads,
                           std::int64_t block_size,
                           std::int64_t num_blocks,
                           const HostMask& mask);

}  // namespace pagelab
