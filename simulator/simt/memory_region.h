/// \file
/// The memory that checked kernels may touch, in up to three stretches: global memory, static shared
/// arrays, dynamic shared memory. All three are checked in the same way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simulator/simt/device_memory.h"
#include "simulator/simt/shadow.h"

namespace pagelab::simt {

/// One stretch of addresses, and what is known of them.
struct MemoryRegion {
  std::byte* begin = nullptr;       ///< first address, a multiple of 16
  std::size_t bytes = 0;            ///< addresses; 0: nothing is checked
  ByteState* states = nullptr;      ///< of the bytes
  CellRef cells = {};               ///< of the words, from the first
  std::size_t cells_per_plane = 0;  ///< distance of a word's cells for its other bytes (shadow.h)

  /// How far an address lies from the first one.
  std::size_t offset_of(const void* address) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - begin);
  }
  /// Whether an address is one of them.
  bool holds(const void* address) const { return offset_of(address) < bytes; }
};

/// Which stretch of memory.
enum class MemorySpace : std::uint8_t {
  kGlobal,         ///< device memory
  kStaticShared,   ///< `__shared__` arrays
  kDynamicShared,  ///< what the launch asked for
};

/// How many there are.
inline constexpr std::size_t kNumMemorySpaces = 3;

/// An array of one of the stretches.
struct ArrayPlace {
  std::string label;  ///< "array `x`", "shared array `scores`", "dynamic shared memory"
  const std::byte* begin = nullptr;  ///< first byte
  std::size_t bytes = 0;             ///< length
  bool is_live = true;               ///< not freed
};

/// A host thread's view of the memory in a checked launch.
class CheckedMemory {
 public:
  /// A launch begins on this host thread.
  /// \param age     of stamps: those of another age are forgotten
  /// \throws Error  as begin_checked_launch
  void begin_launch(unsigned int age);
  /// Forgets stamps of another age.
  /// \param age  of stamps from here on
  void set_age(unsigned int age);
  /// Says where dynamic shared memory lies in this launch.
  /// \param begin  first byte, kSharedGuardBytes of unused memory before it
  /// \param bytes  how many; kSharedGuardBytes of unused memory follow
  void set_dynamic_shared(std::byte* begin, std::size_t bytes);
  /// Shared memory holds nothing from here on.
  void begin_thread_block();

  /// The region of an address; nullptr if it lies in none.
  [[gnu::always_inline]] MemoryRegion* region_of(const void* address) {
    if (regions_[0].holds(address)) return &regions_[0];
    if (regions_[1].holds(address)) return &regions_[1];
    if (regions_[2].holds(address)) return &regions_[2];
    return nullptr;
  }
  /// All of them, by MemorySpace.
  const std::array<MemoryRegion, kNumMemorySpaces>& regions() const { return regions_; }
  /// Which of them it is.
  MemorySpace space_of(const MemoryRegion& region) const {
    return static_cast<MemorySpace>(&region - regions_.data());
  }
  /// Bytes of shared memory are about to be written: the next thread block finds them poisoned.
  /// \param region   static or dynamic shared memory, or another, of which nothing is noted
  /// \param address  first byte
  void note_written(const MemoryRegion& region, const std::byte* address);
  /// Bytes of the static arrays that this thread block has written to.
  std::size_t written_static_bytes() const;
  /// The array that holds an address of a region, or lies nearest to it.
  ArrayPlace nearest_array(const MemoryRegion& region, const std::byte* address) const;

 private:
  void find_static_arrays();
  void forget_stamps();

  MemoryRegion& region(MemorySpace space) { return regions_[static_cast<std::size_t>(space)]; }

  std::array<MemoryRegion, kNumMemorySpaces> regions_;  // by MemorySpace

  unsigned int age_ = 0;

  std::byte* thread_local_begin_ = nullptr;
  std::vector<ByteState> static_states_;
  Shadow static_shadow_;
  std::vector<bool> is_dirty_;  // by number of the array in thread_local_layout()
  std::size_t last_dirty_ = 0;  // the array that was written last

  std::byte* dynamic_begin_ = nullptr;
  std::size_t dynamic_bytes_ = 0;
  std::vector<ByteState> dynamic_states_;
  Shadow dynamic_shadow_;
  bool dynamic_is_dirty_ = true;
};

}  // namespace pagelab::simt
