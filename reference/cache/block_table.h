/// \file
/// The block table: which physical block holds each logical block of each request, and the one line
/// of arithmetic that paging consists of.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pagelab {

/// Marks an unused entry of a block table in step folders. (The engine pads with its null block,
/// 0.)
inline constexpr std::int32_t kNoBlock = -1;

/// The field's convention for "do not store this token".
inline constexpr std::int64_t kNoSlot = -1;

/// Physical block of each logical block, a row a request.
struct BlockTable {
  std::int64_t num_reqs = 0;            ///< rows, N
  std::int64_t max_blocks_per_req = 0;  ///< columns, W
  std::vector<std::int32_t> entries;    ///< [num_reqs, max_blocks_per_req], row-major

  /// A table of unused entries.
  static BlockTable unused(std::int64_t num_reqs, std::int64_t max_blocks_per_req);
  /// A table from one list of blocks a request; shorter rows end in unused entries.
  static BlockTable from_rows(const std::vector<std::vector<std::int32_t>>& rows);

  /// The blocks of one request, unused entries included.
  std::span<std::int32_t> row(std::int64_t req_idx);
  /// \copydoc row
  std::span<const std::int32_t> row(std::int64_t req_idx) const;
};

/// "[6 1 4]": one row, up to its last used entry.
std::string to_string(std::span<const std::int32_t> row);
/// One line a request: "request 0: [6 1 4]".
std::string to_string(const BlockTable& table);

/// Blocks that hold this many tokens.
/// \param num_tokens  0 or more
/// \param block_size  tokens a block, at least 1
constexpr std::int64_t blocks_for_tokens(std::int64_t num_tokens, std::int64_t block_size) {
  return (num_tokens + block_size - 1) / block_size;
}

/// Where position `position` of a request lies in the cache, counted in tokens from its start.
/// \param row         the request's row of the block table
/// \param position    0 or more; its block must be in the row
/// \param block_size  tokens a block
/// \source            PagedAttention (Kwon et al. 2023), section 4.2; vLLM v1/worker/block_table.py
inline std::int64_t slot_of(std::span<const std::int32_t> row,
                            std::int64_t position,
                            std::int64_t block_size) {
  const std::int64_t physical_block = row[position / block_size];
  return physical_block * block_size + position % block_size;
}

}  // namespace pagelab
