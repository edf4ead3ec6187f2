/// \file
/// What a checked kernel's every access goes through: it must lie within one live array of global or
/// shared memory, at an address that suits its width; what is read must have been written; no other
/// thread may have touched the same bytes without a barrier in between, unless both only read; and a
/// null pointer is refused. The hooks of tsan_hooks.cpp call the inline function here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simulator/simt/checks.h"
#include "simulator/simt/counters.h"
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
/// none.
/// \tparam kBytes  1, 2 or 4
/// \param region   that holds them
/// \param offset   of the first byte in the region
template <std::size_t kBytes>
inline CellRef cell_of(const MemoryRegion& region, std::size_t offset) {
  constexpr Grain kGrain = kBytes == 4   ? Grain::kWord
                           : kBytes == 2 ? Grain::kHalves
                                         : Grain::kBytes;
  const CellRef word = region.cells + offset / 4;
  if (word.cell->grain != kGrain) return {};
  if constexpr (kBytes == 4) return word;
  return word + offset % 4 * region.cells_per_plane;
}

/// Notes an access of aligned bytes that are written and race with nobody, whatever their cells are, and
/// makes one cell of those of a word that nothing tells apart any more.
/// \param region   that holds them
/// \param address  first byte
/// \param bytes    1, 2, 4, 8 or 16
/// \param kind     kRead or kWrite
/// \param pc       the hook's return address
/// \returns        false if a closer look is needed
bool note_aligned(const MemoryRegion& region,
                  const void* address,
                  std::size_t bytes,
                  AccessKind kind,
                  const void* pc);

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

/// The regions of checked_memory as the hooks find them, without a detour: empty where no checked thread block
/// runs, and where one is counted.
extern constinit thread_local std::array<MemoryRegion, kNumMemorySpaces> hooked_regions;

/// How far ahead of an access the record of what may come next is fetched: measured, 8 to 32 do alike.
inline constexpr std::size_t kCellsAhead = 16;

/// Notes an access of up to 4 aligned bytes where nothing is remarkable: they are written already, have a cell
/// of their own, and nobody races. \returns false if a closer look is needed
template <std::size_t kBytes, AccessKind kKind>
[[gnu::always_inline]] inline bool note_plain_piece(const MemoryRegion& region,
                                                    std::size_t offset,
                                                    Stamp mine,
                                                    const void* pc) {
  if (!are_written<kBytes>(region.states + offset)) return false;
  const CellRef latest = cell_of<kBytes>(region, offset);
  if (latest.cell == nullptr) return false;
  // Kernels mostly walk through memory, whose cells are four times as large and fall out of the caches.
  __builtin_prefetch(latest.cell + kCellsAhead, 1);
  if constexpr (kKind == AccessKind::kRead) {
    return note_plain_read(latest, mine, pc, happens_before);
  } else {
    return note_plain_write(latest, mine, pc, happens_before);
  }
}

/// Checks and notes a load or store of a width that one instruction has, in a few nanoseconds, where nothing is
/// remarkable. \returns false if a closer look is needed
/// \tparam kBytes  1, 2, 4, 8 or 16
/// \tparam kKind   kRead or kWrite
/// \param address  first byte
/// \param pc       the hook's return address
template <std::size_t kBytes, AccessKind kKind>
[[gnu::always_inline]] inline bool note_plain_access(const void* address, const void* pc) {
  constexpr std::size_t kPieceBytes = kBytes < 4 ? kBytes : 4;
  const MemoryRegion* region = &hooked_regions[0];
  if (!region->holds(address)) {
    ++region;
    if (!region->holds(address)) ++region;
    if (!region->holds(address)) return !is_null(address) && !is_counting();
  }
  if (reinterpret_cast<std::uintptr_t>(address) % kBytes != 0) return false;
  const std::size_t offset = region->offset_of(address);
  const Stamp mine = happens_before.stamp_of(running_thread_block->running_thread());
  for (std::size_t done = 0; done < kBytes; done += kPieceBytes) {
    if (!note_plain_piece<kPieceBytes, kKind>(*region, offset + done, mine, pc)) return false;
  }
  return true;
}

/// The same where something may be remarkable. Apart from the common case, so that a hook saves no registers
/// for it.
/// \tparam kBytes  1, 2, 4, 8 or 16
/// \tparam kKind   kRead or kWrite
/// \param address  first byte
/// \param pc       the hook's return address
template <std::size_t kBytes, AccessKind kKind>
[[gnu::noinline]] void check_closely(const void* address, const void* pc) {
  if (checked_memory == nullptr) return;
  const MemoryRegion* const region = checked_memory->region_of(address);
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(address) % kBytes == 0;
  if (region != nullptr && is_aligned && note_aligned(*region, address, kBytes, kKind, pc)) return;
  check_any_access(address, kBytes, kKind, pc, Alignment::kByWidth);
}

/// Checks and notes a load or store of a width that one instruction has.
/// \tparam kBytes  1, 2, 4, 8 or 16
/// \tparam kKind   kRead or kWrite
/// \param address  first byte
/// \param pc       the hook's return address
template <std::size_t kBytes, AccessKind kKind>
[[gnu::always_inline]] inline void check_fixed_access(const void* address, const void* pc) {
  if (!note_plain_access<kBytes, kKind>(address, pc)) check_closely<kBytes, kKind>(address, pc);
}

}  // namespace pagelab::simt
