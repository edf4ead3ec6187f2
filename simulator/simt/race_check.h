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
/// \param cell   of the bytes
/// \param kind   of the access
/// \param mine   of the running thread
/// \param order  of the launch
std::optional<Conflict> conflict_with(const Cell& cell,
                                      AccessKind kind,
                                      Stamp mine,
                                      const HappensBefore& order);

/// Remembers an access that races with none.
/// \param cell   of the bytes
/// \param kind   of the access
/// \param mine   of the running thread
/// \param site   where
/// \param order  of the launch
void remember(Cell& cell, AccessKind kind, Stamp mine, Site site, const HappensBefore& order);

/// Copies a cell and the atomics on it, when four bytes are told apart more finely.
void copy_cell(const Cell& from, Cell& to);

/// Forgets the atomics of earlier launches.
void forget_atomics();

/// Remembers one more of accesses that may go on at the same time, reads or atomics, so that the two
/// that stay are as far apart as possible: a later access that races with any races with one of them.
/// \param stamps  of those that are remembered
/// \param sites   of the same
/// \param mine    of the running thread
/// \param site    where
/// \param order   of the launch
inline void note_sharer(
    Stamp (&stamps)[2], Site (&sites)[2], Stamp mine, Site site, const HappensBefore& order) {
  const auto put_at = [&](int place) {
    stamps[place] = mine;
    sites[place] = site;
  };
  if (order.is_before(stamps[0], mine)) return put_at(0);
  if (order.is_before(stamps[1], mine)) return put_at(1);
  // Thread blocks run one after the other: whoever comes later races with one of an earlier block.
  if (!order.is_of_this_thread_block(stamps[0])) return;
  const auto warp_of = [](Stamp stamp) { return thread_of(stamp) / kLanesPerWarp; };
  const bool same_warp = warp_of(stamps[0]) == warp_of(stamps[1]);
  if (same_warp && warp_of(mine) != warp_of(stamps[0])) put_at(1);
}

/// Remembers a read that races with nothing. \returns false if a closer look is needed
[[gnu::always_inline]] inline bool note_read_fast(Cell& cell,
                                                  Stamp mine,
                                                  Site site,
                                                  const HappensBefore& order) {
  if (cell.reads[0] == mine || cell.reads[1] == mine) return true;
  if (cell.has_atomics || !order.is_before(cell.write, mine)) return false;
  note_sharer(cell.reads, cell.read_sites, mine, site, order);
  return true;
}

/// Remembers a write that races with nothing. \returns false if a closer look is needed
[[gnu::always_inline]] inline bool note_write_fast(Cell& cell,
                                                   Stamp mine,
                                                   Site site,
                                                   const HappensBefore& order) {
  if (cell.has_atomics || !order.is_before(cell.write, mine)) return false;
  if (!order.is_before(cell.reads[0], mine) || !order.is_before(cell.reads[1], mine)) return false;
  cell.write = mine;
  cell.write_site = site;
  cell.reads[0] = 0;
  cell.reads[1] = 0;
  return true;
}

}  // namespace pagelab::simt
