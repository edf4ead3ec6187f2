/// \file
/// What a checked kernel's every access goes through: it must lie within one live array of global or
/// shared memory, at an address that suits its width; what is read must have been written; no other
/// thread may have touched the same bytes without a barrier in between, unless both only read; and a
/// null pointer is refused. The hooks of tsan_hooks.cpp call the inline function here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simulator/simt/checks.h"
#include "simulator/simt/happens_before.h"
#include "simulator/simt/memory_region.h"
#include "simulator/simt/race_check.h"
#include "simulator/simt/running_lane.h"
#include "simulator/simt/thread_block.h"

namespace pagelab::simt {

/// The memory of the checked thread block that this host thread runs.
extern constinit thread_local CheckedMemory* checked_memory;
/// Addresses so small come from a null pointer plus an index.
inline bool is_null(const void* address) {
  constexpr std::uintptr_t kEnd = 64 * 1024;
  return reinterpret_cast<std::uintptr_t>(address) < kEnd;
}

/// The meetings of the checked launch under way.
extern HappensBefore happens_before;

/// Whether an address must be a multiple of the access's width.
enum class Alignment : std::uint8_t {
  kByWidth,  ///< 2, 4, 8 and 16 bytes: one instruction on a GPU
  kAny,      ///< a structure, which the compiler takes apart
};

/// Checks and notes any access, as check_access does.
/// \param address    first byte
/// \param bytes      how many
/// \param kind       what it does
/// \param pc         a return address, for the source line
/// \param alignment  whether the address must suit the width
void check_any_access(
    const void* address, std::size_t bytes, AccessKind kind, const void* pc, Alignment alignment);

/// The cell of the aligned bytes at an address, if exactly those have a cell of their own; otherwise
/// nullptr.
/// \tparam kBytes  1, 2 or 4
/// \param region   that holds them
/// \param offset   of the first byte in the region
template <std::size_t kBytes>
inline Cell* cell_of(const MemoryRegion& region, std::size_t offset) {
  constexpr Grain kGrain = kBytes == 4   ? Grain::kWord
                           : kBytes == 2 ? Grain::kHalves
                                         : Grain::kBytes;
  Cell* const word = region.cells + offset / 4;
  if (word->grain != kGrain) return nullptr;
  if constexpr (kBytes == 4) return word;
  return word + offset % 4 * region.cells_per_plane;
}

/// Notes an access of 4 aligned bytes, whose halves or bytes may have cells of their own, where nothing
/// else is remarkable. \returns false if a closer look is needed
/// \param region  that holds them
/// \param offset  of the first byte in the region
/// \param kind    kRead or kWrite
/// \param mine    of the running thread
/// \param site    where
bool note_divided_word(
    const MemoryRegion& region, std::size_t offset, AccessKind kind, Stamp mine, Site site);

/// Whether bytes are written, all of them.
/// \tparam kBytes  1, 2 or 4
/// \param states   of the first byte and the next
template <std::size_t kBytes>
inline bool are_written(const ByteState* states) {
  constexpr std::uint32_t kAllWritten = 0x01010101u * static_cast<unsigned>(ByteState::kWritten);
  std::uint32_t all = kAllWritten;
  std::memcpy(&all, states, kBytes);
  return all == kAllWritten;
}

/// How far ahead of an access the record of what may come next is fetched: measured, 8 to 24 do alike.
inline constexpr std::size_t kCellsAhead = 16;

/// Notes an access of up to 4 aligned bytes where nothing is remarkable: they are written already,
/// have a cell of their own, and nobody races. \returns false if a closer look is needed
template <std::size_t kBytes, AccessKind kKind>
[[gnu::always_inline]] inline bool note_plain_access(const MemoryRegion& region,
                                                     std::size_t offset,
                                                     Stamp mine,
                                                     Site site) {
  if (!are_written<kBytes>(region.states + offset)) return false;
  Cell* const cell = cell_of<kBytes>(region, offset);
  // Kernels mostly walk through memory, whose record is ten times as large and falls out of the caches.
  __builtin_prefetch(reinterpret_cast<const char*>(cell) + kCellsAhead * sizeof(Cell), 1);
  if (cell == nullptr) return false;
  if constexpr (kKind == AccessKind::kRead)
    return note_read_fast(*cell, mine, site, happens_before);
  return note_write_fast(*cell, mine, site, happens_before);
}

/// Checks and notes a load or store of a width that one instruction has, where something is remarkable.
/// Apart from the common case, so that a hook saves no registers for it.
/// \tparam kBytes  1, 2, 4, 8 or 16
/// \tparam kKind   kRead or kWrite
/// \param address  first byte
/// \param pc       the hook's return address
template <std::size_t kBytes, AccessKind kKind>
[[gnu::noinline]] void check_closely(const void* address, const void* pc) {
  const MemoryRegion* const region = checked_memory->region_of(address);
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(address) % kBytes == 0;
  if (kBytes >= 4 && region != nullptr && is_aligned) {
    const std::size_t offset = region->offset_of(address);
    const Stamp mine = happens_before.stamp_of(running_thread_block->running_thread());
    std::size_t done = 0;
    while (done < kBytes && note_divided_word(*region, offset + done, kKind, mine, site_of(pc))) {
      done += 4;
    }
    if (done == kBytes) return;
  }
  check_any_access(address, kBytes, kKind, pc, Alignment::kByWidth);
}

/// Checks and notes a load or store of a width that one instruction has, in a few nanoseconds where
/// nothing is remarkable.
/// \tparam kBytes  1, 2, 4, 8 or 16
/// \tparam kKind   kRead or kWrite
/// \param address  first byte
/// \param pc       the hook's return address
template <std::size_t kBytes, AccessKind kKind>
[[gnu::always_inline]] inline void check_fixed_access(const void* address, const void* pc) {
  constexpr std::size_t kPieceBytes = kBytes < 4 ? kBytes : 4;
  if (checked_memory == nullptr) return;
  const MemoryRegion* const region = checked_memory->region_of(address);
  if (region == nullptr && !is_null(address)) return;
  if (region != nullptr && reinterpret_cast<std::uintptr_t>(address) % kBytes == 0) {
    const std::size_t offset = region->offset_of(address);
    const Stamp mine = happens_before.stamp_of(running_thread_block->running_thread());
    const Site site = site_of(pc);
    std::size_t done = 0;
    while (done < kBytes &&
           note_plain_access<kPieceBytes, kKind>(*region, offset + done, mine, site)) {
      done += kPieceBytes;
    }
    if (done == kBytes) return;
  }
  check_closely<kBytes, kKind>(address, pc);
}

}  // namespace pagelab::simt
