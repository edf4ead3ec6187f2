/// \file
/// Where a tensor's bytes lie: large ones in huge pages.
#pragma once

#include <cstddef>

namespace pagelab {

/// Bytes that it owns. It asks the system to lay large arrays in pages of 2 MiB in place of 4 KiB. The processor
/// looks up in a small table (the TLB) where each page lies; a KV cache in 4 KiB pages has more pages than
/// the table has entries, and an attention that jumps from block to block then waits for the
/// look-up, not for the data. On an AMD EPYC that was 5 to 8 % of a decode step over 32 MB of cache
/// at block size 16; with huge pages nothing is left of it that can be measured.
/// (A std::vector with an allocator that does this copies byte by byte: it may not know that bytes can be copied at
/// once where an allocator of one's own makes them.)
class ByteArray {
 public:
  ByteArray() = default;  ///< none
  /// Zeros.
  /// \param size             bytes; from 2 MiB on, they begin at a multiple of 2 MiB
  /// \throws std::bad_alloc  if there is not enough memory
  explicit ByteArray(std::size_t size);
  /// A copy, in memory of its own. \throws std::bad_alloc  if there is not enough
  ByteArray(const ByteArray& other);
  /// Takes the other's memory, which has no bytes afterwards.
  ByteArray(ByteArray&& other) noexcept;
  /// Copies or takes.
  ByteArray& operator=(ByteArray other) noexcept;
  ~ByteArray();

  std::byte* data() { return bytes_; }              ///< the first
  const std::byte* data() const { return bytes_; }  ///< the first
  std::size_t size() const { return size_; }        ///< how many

 private:
  std::size_t size_ = 0;
  std::byte* bytes_ = nullptr;  // null: none
};

}  // namespace pagelab
