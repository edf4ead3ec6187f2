#include "simulator/simt/access_check.h"

#include <algorithm>

#include "simulator/simt/access_report.h"

namespace pagelab::simt {

constinit thread_local CheckedMemory* checked_memory = nullptr;
constinit thread_local std::array<MemoryRegion, kNumMemorySpaces> hooked_regions = {};
HappensBefore happens_before;

namespace {

bool is_allowed(ByteState state, AccessKind kind) {
  switch (kind) {
    case AccessKind::kWrite:
      return state == ByteState::kUnwritten || state == ByteState::kWritten;
    case AccessKind::kArrival:
      return state == ByteState::kInFlight;
    default:
      return state == ByteState::kWritten;
  }
}

// Bytes that lie in no array, which is said before anything else about an access.
bool is_outside(ByteState state) {
  return state <= ByteState::kFreed || state == ByteState::kForeign;
}

bool is_misaligned(const Access& access, Alignment alignment) {
  const bool is_one_instruction = access.bytes <= 16 && (access.bytes & (access.bytes - 1)) == 0;
  return alignment == Alignment::kByWidth && is_one_instruction &&
         reinterpret_cast<std::uintptr_t>(access.address) % access.bytes != 0;
}

void check_states(const Access& access, const MemoryRegion& region, Alignment alignment) {
  const ByteState* const states = region.states + (access.address - region.begin);
  const ByteState* const end = states + access.bytes;
  const ByteState* const outside = std::find_if(states, end, is_outside);
  if (outside != end) fail_for_state(access, region, *outside);
  if (is_misaligned(access, alignment)) fail_for_alignment(access, region);
  const ByteState* const wrong = std::find_if_not(
      states, end, [&](ByteState state) { return is_allowed(state, access.kind); });
  if (wrong != end) fail_for_state(access, region, *wrong);
}

// Gives each half or byte of a word a cell of its own.
void refine(CellRef word, std::size_t cells_per_plane, Grain grain) {
  if (word.cell->grain >= grain) return;
  const std::size_t old_step = word.cell->grain == Grain::kWord ? 4 : 2;
  const std::size_t new_step = grain == Grain::kHalves ? 2 : 1;
  for (std::size_t byte = 0; byte < kWordBytes; ++byte) {
    const bool has_cell = byte % old_step == 0;
    const bool needs_cell = byte % new_step == 0;
    if (has_cell || !needs_cell) continue;
    const std::size_t source = byte / old_step * old_step;
    copy_cell(word + source * cells_per_plane, word + byte * cells_per_plane);
  }
  word.cell->grain = grain;
}

// Looks for races on bytes `first` to `end` of one word, and remembers the access.
void note_in_word(const Access& access,
                  const MemoryRegion& region,
                  CellRef word,
                  std::size_t first,
                  std::size_t end) {
  const bool is_whole = first == 0 && end == kWordBytes;
  const bool are_halves = first % 2 == 0 && end % 2 == 0;
  if (!is_whole) refine(word, region.cells_per_plane, are_halves ? Grain::kHalves : Grain::kBytes);
  const std::size_t step = kWordBytes >> static_cast<unsigned>(word.cell->grain);
  const Stamp mine = happens_before.stamp_of(running_thread_block->running_thread());
  const bool is_shared = checked_memory->space_of(region) != MemorySpace::kGlobal;
  for (std::size_t byte = first; byte < end; byte += step) {
    const CellRef earlier = word + byte * region.cells_per_plane;
    const auto conflict = conflict_with(earlier, access.kind, mine, happens_before);
    if (!conflict) continue;
    // Shared memory begins anew with each thread block: what another one left there says nothing.
    if (is_shared && !happens_before.is_of_this_thread_block(conflict->stamp)) continue;
    fail_for_race(access, region, *conflict);
  }
  // What one thread writes at once is one cell again.
  const bool writes = access.kind == AccessKind::kWrite || access.kind == AccessKind::kArrival;
  if (writes && is_whole) word.cell->grain = Grain::kWord;
  for (std::size_t byte = first; byte < end;
       byte += kWordBytes >> static_cast<unsigned>(word.cell->grain)) {
    const CellRef latest = word + byte * region.cells_per_plane;
    remember(latest, access.kind, mine, site_of(access.pc), happens_before);
  }
}

void note_in_cells(const Access& access, const MemoryRegion& region) {
  const std::size_t begin = static_cast<std::size_t>(access.address - region.begin);
  const std::size_t end = begin + access.bytes;
  for (std::size_t word = begin / kWordBytes; word * kWordBytes < end; ++word) {
    const std::size_t word_begin = word * kWordBytes;
    const std::size_t first = std::max(begin, word_begin) - word_begin;
    const std::size_t last = std::min(end, word_begin + kWordBytes) - word_begin;
    note_in_word(access, region, region.cells + word, first, last);
  }
}

void set_states(const Access& access, const MemoryRegion& region, ByteState state) {
  std::fill_n(region.states + (access.address - region.begin), access.bytes, state);
  checked_memory->note_written(region, access.address);
}

}  // namespace

namespace {

// Notes an access of a whole word, or of a part that has a cell of its own.
bool note_in_its_cells(const MemoryRegion& region,
                       std::size_t offset,
                       std::size_t bytes,
                       AccessKind kind,
                       Stamp mine,
                       Site site) {
  const CellRef word = region.cells + offset / kWordBytes;
  const std::size_t step = kWordBytes >> static_cast<unsigned>(word.cell->grain);
  if (step > bytes) return false;
  const std::size_t first = offset % kWordBytes;
  bool is_of_earlier_launches = true;
  for (std::size_t byte = first; byte < first + bytes; byte += step) {
    const CellRef latest = word + byte * region.cells_per_plane;
    const Cell& cell = *latest.cell;
    is_of_earlier_launches &= happens_before.is_of_earlier_launch(cell.write) &&
                              happens_before.is_of_earlier_launch(cell.reads[0]) &&
                              happens_before.is_of_earlier_launch(cell.reads[1]);
    const bool is_noted = kind == AccessKind::kRead
                              ? note_read_fast(latest, mine, site, happens_before)
                              : note_write_fast(latest, mine, site, happens_before);
    if (!is_noted) return false;
  }
  // Nothing tells the parts of a whole word apart any more: they are one cell again, the first, which knows of
  // this access.
  const bool is_whole = bytes == kWordBytes;
  if (is_whole && (kind == AccessKind::kWrite || is_of_earlier_launches)) {
    word.cell->grain = Grain::kWord;
  }
  return true;
}

}  // namespace

bool note_aligned(const MemoryRegion& region,
                  const void* address,
                  std::size_t bytes,
                  AccessKind kind,
                  const void* pc) {
  const std::size_t offset = region.offset_of(address);
  const ByteState* const states = region.states + offset;
  const auto is_written = [](ByteState state) { return state == ByteState::kWritten; };
  if (!std::all_of(states, states + bytes, is_written)) return false;
  const Stamp mine = happens_before.stamp_of(running_thread_block->running_thread());
  const std::size_t step = std::min(bytes, kWordBytes);
  for (std::size_t done = 0; done < bytes; done += step) {
    if (!note_in_its_cells(region, offset + done, step, kind, mine, site_of(pc))) return false;
  }
  return true;
}

void check_any_access(
    const void* address, std::size_t bytes, AccessKind kind, const void* pc, Alignment alignment) {
  if (checked_memory == nullptr || bytes == 0) return;
  const Access access = {static_cast<const std::byte*>(address), bytes, kind, pc};
  if (is_null(address)) fail_for_null(access);
  const MemoryRegion* const region = checked_memory->region_of(address);
  if (region == nullptr) return;
  const ByteState first_state = region->states[access.address - region->begin];
  if (first_state == ByteState::kForeign) return;
  check_states(access, *region, alignment);
  note_in_cells(access, *region);
  if (kind != AccessKind::kRead) set_states(access, *region, ByteState::kWritten);
}

void check_access(const void* address, std::size_t bytes, AccessKind kind, const void* pc) {
  check_any_access(address, bytes, kind, pc, Alignment::kByWidth);
}

void mark_in_flight(const void* address, std::size_t bytes, const void* pc) {
  if (checked_memory == nullptr) return;
  const Access access = {static_cast<const std::byte*>(address), bytes, AccessKind::kWrite, pc};
  if (is_null(address)) fail_for_null(access);
  const MemoryRegion* const region = checked_memory->region_of(address);
  const bool is_shared =
      region != nullptr && checked_memory->space_of(*region) != MemorySpace::kGlobal;
  if (!is_shared) fail_for_destination(access);
  check_states(access, *region, Alignment::kByWidth);
  note_in_cells(access, *region);
  set_states(access, *region, ByteState::kInFlight);
}

}  // namespace pagelab::simt
