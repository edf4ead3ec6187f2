/// \file
/// Data races: two threads touch the same bytes, one of them writes, and nothing orders the two. Each
/// access looks at what the cell remembers of earlier ones, and is then remembered itself.
///
/// Source: for what has to be remembered, FastTrack (Flanagan and Freund 2009). Differs: there are at
/// most two reads, since every order here comes from a barrier of a whole thread block or warp.
#pragma once

#include <optional>

#include "simulator/simt/checks.h"
#include "simulator/simt/happens_before.h"
#include "simulator/simt/shadow.h"

namespace pagelab::simt {

/// The earlier of two accesses that race.
struct Conflict {
  Stamp stamp = 0;                      ///< who
  Site site = 0;                        ///< where
  AccessKind kind = AccessKind::kRead;  ///< what: kRead, kWrite or kAtomic
};

/// The earlier access with which this one races, if there is one.
/// \param earlier  on the bytes
/// \param kind     of the access
/// \param mine     of the running thread
/// \param order    of the launch
std::optional<Conflict> conflict_with(CellRef earlier,
                                      AccessKind kind,
                                      Stamp mine,
                                      const HappensBefore& order);

/// Remembers an access that races with none.
/// \param latest  on the bytes
/// \param kind    of the access
/// \param mine    of the running thread
/// \param site    where
/// \param order   of the launch
void remember(CellRef latest, AccessKind kind, Stamp mine, Site site, const HappensBefore& order);

/// Copies a cell and the atomics on it, when four bytes are told apart more finely.
void copy_cell(CellRef from, CellRef to);

/// Forgets the atomics of earlier launches.
void forget_atomics();

/// Of accesses that may go on at the same time, reads or atomics, two are remembered already and this one comes
/// before neither: takes the second's place if it is then further apart from the first.
/// \param stamps  of those that are remembered
/// \param sites   of the same
/// \param mine    of the running thread
/// \param site    where
/// \param order   of the launch
inline void note_third_sharer(
    Stamp (&stamps)[2], Site (&sites)[2], Stamp mine, Site site, const HappensBefore& order) {
  // Thread blocks run one after the other: whoever comes later races with one of an earlier block.
  if (!order.is_of_this_thread_block(stamps[0])) return;
  const auto warp_of = [&](Stamp stamp) { return order.thread_of(stamp) / kLanesPerWarp; };
  const bool same_warp = warp_of(stamps[0]) == warp_of(stamps[1]);
  if (!same_warp || warp_of(mine) == warp_of(stamps[0])) return;
  stamps[1] = mine;
  sites[1] = site;
}

/// Remembers one more of accesses that may go on at the same time, so that the two that stay are as far apart
/// as possible: a later access that races with any races with one of them. Parameters as above.
inline void note_sharer(
    Stamp (&stamps)[2], Site (&sites)[2], Stamp mine, Site site, const HappensBefore& order) {
  for (int place = 0; place < 2; ++place) {
    if (!order.is_before(stamps[place], mine)) continue;
    stamps[place] = mine;
    sites[place] = site;
    return;
  }
  note_third_sharer(stamps, sites, mine, site, order);
}

/// Remembers a write. Whatever races with a read before it races with the write.
inline void set_write(CellRef latest, Stamp mine, Site site) {
  latest.cell->write = mine;
  latest.sites->write = site;
  latest.cell->reads[0] = 0;
  latest.cell->reads[1] = 0;
}

/// Remembers a read beside one that may go on at the same time. A function of its own, so that the more common
/// cases save no registers for it.
/// \param latest  on the bytes; reads[0] comes not before this one
/// \param mine    of the running thread
/// \param pc      return address of the access
/// \param order   of the launch
void note_read_beside(CellRef latest, Stamp mine, const void* pc, const HappensBefore& order);

/// Remembers a read, in a few instructions, where no `__syncwarp` has to be thought of and nothing races.
/// \returns false if a closer look is needed
/// \param latest  on the bytes
/// \param mine    of the running thread
/// \param pc      return address of the access
/// \param order   of the launch
[[gnu::always_inline]] inline bool note_plain_read(CellRef latest,
                                                   Stamp mine,
                                                   const void* pc,
                                                   const HappensBefore& order) {
  Cell& cell = *latest.cell;
  if (cell.reads[0] == mine || cell.reads[1] == mine) return true;
  if (cell.has_atomics || !order.is_plainly_before(cell.write, mine)) return false;
  if (order.is_plainly_before(cell.reads[0], mine)) {
    cell.reads[0] = mine;
    latest.sites->reads[0] = site_of(pc);
    return true;
  }
  if (order.have_lanes_met()) return false;
  note_read_beside(latest, mine, pc, order);
  return true;
}

/// The same for a write.
[[gnu::always_inline]] inline bool note_plain_write(CellRef latest,
                                                    Stamp mine,
                                                    const void* pc,
                                                    const HappensBefore& order) {
  const Cell& cell = *latest.cell;
  if (cell.has_atomics || !order.is_plainly_before(cell.write, mine)) return false;
  if (!order.is_plainly_before(cell.reads[0], mine)) return false;
  if (!order.is_plainly_before(cell.reads[1], mine)) return false;
  set_write(latest, mine, site_of(pc));
  return true;
}

/// Remembers a read that races with nothing. \returns false if a closer look is needed
inline bool note_read_fast(CellRef latest, Stamp mine, Site site, const HappensBefore& order) {
  Cell& cell = *latest.cell;
  if (cell.reads[0] == mine || cell.reads[1] == mine) return true;
  if (cell.has_atomics || !order.is_before(cell.write, mine)) return false;
  note_sharer(cell.reads, latest.sites->reads, mine, site, order);
  return true;
}

/// Remembers a write that races with nothing. \returns false if a closer look is needed
inline bool note_write_fast(CellRef latest, Stamp mine, Site site, const HappensBefore& order) {
  const Cell& cell = *latest.cell;
  if (cell.has_atomics || !order.is_before(cell.write, mine)) return false;
  if (!order.is_before(cell.reads[0], mine) || !order.is_before(cell.reads[1], mine)) return false;
  set_write(latest, mine, site);
  return true;
}

}  // namespace pagelab::simt
