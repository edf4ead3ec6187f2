/// \file
/// The asynchronous copies that a thread has begun and not waited for.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace pagelab::simt {

/// One copy under way: what will be written, and where.
struct PendingCopy {
  std::byte* shared = nullptr;       ///< destination
  std::array<std::byte, 16> data{};  ///< as it was read when the copy began
  std::size_t bytes = 0;             ///< of the copy
  unsigned int group = 0;            ///< number of its group, from 0
};

/// A thread's copies, oldest first.
struct PendingCopies {
  std::vector<PendingCopy> copies;  ///< under way
  unsigned int num_groups = 0;  ///< committed so far; a copy of group `num_groups` is in none yet
};

}  // namespace pagelab::simt
