/// \file
/// Kernel blocks. The cache manager hands out blocks of one size; a kernel may want smaller ones,
/// and then reads each manager block as several. Which size, and what the table becomes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/cache/block_table.h"

namespace pagelab {

/// A block size that a backend accepts: exactly `size`, or every multiple of it.
/// \source vLLM v1/attention/backend.py, MultipleOf
struct AcceptedBlockSize {
  std::int64_t size = 1;     ///< tokens, at least 1
  bool multiple_of = false;  ///< multiples of it too
};

/// Whether a backend that accepts these sizes takes blocks of this one.
bool accepts_block_size(std::span<const AcceptedBlockSize> accepted, std::int64_t block_size);

/// The block size that all backends of a cache group read: the manager's own if all take it, else
/// the largest exact size that some backend names, that divides it, and that all take.
/// \param manager_block_size  tokens of a manager block, at least 1
/// \param backends            what each backend accepts
/// \throws Error              if no size suits all, naming what each accepts
std::int64_t choose_kernel_block_size(std::int64_t manager_block_size,
                                      std::span<const std::vector<AcceptedBlockSize>> backends);

/// The block table in kernel blocks: manager block b becomes blocks b·s, b·s + 1, …
/// \param manager_table             [num_reqs, width]
/// \param blocks_per_manager_block  kernel blocks in a manager block, r, at least 1
/// \param stride                    s: kernel blocks from one manager block to the next; 0 means r.
///                                  More where other layers' pages lie in between
/// \returns                         [num_reqs, width · r]; unused entries stay unused
/// \throws Error                    if a number is out of range, or an id would not fit an int32
BlockTable kernel_block_table(const BlockTable& manager_table,
                              std::int64_t blocks_per_manager_block,
                              std::int64_t stride = 0);

/// The table without the blocks that lie past each sequence's end.
/// \param table       [num_reqs, width]
/// \param seq_lens    [num_reqs] tokens
/// \param block_size  tokens a block of this table
/// \returns           the same shape; entries from ceil(seq_len / block_size) on are unused
/// \throws Error      if the numbers of requests differ, or a size is out of range
BlockTable without_blocks_past_end(const BlockTable& table,
                                   std::span<const std::int32_t> seq_lens,
                                   std::int64_t block_size);

}  // namespace pagelab
