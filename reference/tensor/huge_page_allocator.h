/// \file
/// Where a tensor's bytes lie: large ones in huge pages.
#pragma once

#include <cstddef>

namespace pagelab {

/// Asks the system to lay large arrays in pages of 2 MiB in place of 4 KiB. The processor looks up
/// in a small table (the TLB) where each page lies; a KV cache in 4 KiB pages has more pages than
/// the table has entries, and an attention that jumps from block to block then waits for the
/// look-up, not for the data. On an AMD EPYC that was 5 to 8 % of a decode step over 32 MB of cache
/// at block size 16; with huge pages nothing is left of it that can be measured.
/// An allocator in the standard's sense, of bytes.
struct HugePageAllocator {
  using value_type = std::byte;  ///< what it allocates

  /// The same allocator, whatever a container asks it to become: it allocates bytes.
  template <typename>
  struct rebind {
    using other = HugePageAllocator;  ///< itself
  };

  /// Uninitialised memory.
  /// \param num_bytes  from 2 MiB on, the memory begins at a multiple of 2 MiB
  /// \throws std::bad_alloc  if there is not enough memory
  std::byte* allocate(std::size_t num_bytes);

  /// Gives memory back.
  /// \param bytes      what allocate() returned
  /// \param num_bytes  as it was given to allocate()
  void deallocate(std::byte* bytes, std::size_t num_bytes) noexcept;

  /// All of them are one: each frees what another allocated.
  bool operator==(const HugePageAllocator&) const = default;
};

}  // namespace pagelab
