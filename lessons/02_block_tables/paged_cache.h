/// \file
/// A paged cache small enough to read in a debugger, and a row of a block table that counts how
/// often it is asked.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lessons/02_block_tables/attend.h"

namespace pagelab::lesson_02 {

/// Keys and values of many requests, a row a slot. Block b has the slots b * block_size and on.
struct PagedCache {
  int block_size = 0;  ///< tokens a block
  Rows keys;           ///< [num_blocks * block_size][head_size]
  Rows values;         ///< [num_blocks * block_size][head_size]
};

/// The row of the block table that belongs to one request: its physical block for each logical
/// block.
class BlockTableRow {
 public:
  /// \param blocks  physical blocks, in the order of the sequence
  explicit BlockTableRow(std::vector<int> blocks) : blocks_(std::move(blocks)) {}

  /// The physical block behind a logical one.
  /// \throws std::out_of_range  if the row has no such entry
  int operator[](int logical_block) const {
    ++lookups_;
    if (logical_block < 0 || logical_block >= size()) {
      throw std::out_of_range("block_table[" + std::to_string(logical_block) +
                              "] was read, but it has " + std::to_string(size()) + " entries");
    }
    return blocks_[logical_block];
  }

  int size() const { return static_cast<int>(blocks_.size()); }  ///< logical blocks
  int lookups() const { return lookups_; }                       ///< how often [] was called

 private:
  std::vector<int> blocks_;
  mutable int lookups_ = 0;
};

}  // namespace pagelab::lesson_02
