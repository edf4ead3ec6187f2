#include "simulator/simt/race_check.h"

#include <unordered_map>

namespace pagelab::simt {

namespace {

// Atomics on the bytes of one cell. They are few, and most cells have none.
struct Atomics {
  Stamp stamps[2] = {};
  Site sites[2] = {};
};

// By cell. One checked launch runs at a time.
std::unordered_map<const Cell*, Atomics>& atomics_of_cells() {
  static std::unordered_map<const Cell*, Atomics> atomics;
  return atomics;
}

std::optional<Conflict> conflict_among(const Stamp (&stamps)[2],
                                       const Site (&sites)[2],
                                       AccessKind kind,
                                       Stamp mine,
                                       const HappensBefore& order) {
  for (int place = 0; place < 2; ++place) {
    if (order.is_before(stamps[place], mine)) continue;
    return Conflict{stamps[place], sites[place], kind};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Conflict> conflict_with(CellRef earlier,
                                      AccessKind kind,
                                      Stamp mine,
                                      const HappensBefore& order) {
  const Cell& cell = *earlier.cell;
  const CellSites& sites = *earlier.sites;
  if (!order.is_before(cell.write, mine)) {
    return Conflict{cell.write, sites.write, AccessKind::kWrite};
  }
  std::optional<Conflict> conflict;
  if (kind != AccessKind::kRead) {
    conflict = conflict_among(cell.reads, sites.reads, AccessKind::kRead, mine, order);
  }
  if (!conflict && cell.has_atomics && kind != AccessKind::kAtomic) {
    const auto found = atomics_of_cells().find(&cell);
    if (found == atomics_of_cells().end()) return std::nullopt;  // of an earlier launch
    const Atomics& atomics = found->second;
    conflict = conflict_among(atomics.stamps, atomics.sites, AccessKind::kAtomic, mine, order);
  }
  return conflict;
}

void remember(CellRef latest, AccessKind kind, Stamp mine, Site site, const HappensBefore& order) {
  Cell& cell = *latest.cell;
  if (cell.has_atomics) cell.has_atomics = atomics_of_cells().contains(&cell);
  if (kind == AccessKind::kRead) {
    note_sharer(cell.reads, latest.sites->reads, mine, site, order);
  } else if (kind == AccessKind::kAtomic) {
    Atomics& atomics = atomics_of_cells()[&cell];
    cell.has_atomics = true;
    note_sharer(atomics.stamps, atomics.sites, mine, site, order);
  } else {
    // Whatever races with an atomic before this write races with the write.
    if (cell.has_atomics) atomics_of_cells().erase(&cell);
    cell.has_atomics = false;
    set_write(latest, mine, site);
  }
}

void note_read_beside(CellRef latest, Stamp mine, const void* pc, const HappensBefore& order) {
  Cell& cell = *latest.cell;
  if (order.is_plainly_before(cell.reads[1], mine)) {
    cell.reads[1] = mine;
    latest.sites->reads[1] = site_of(pc);
  } else {
    note_third_sharer(cell.reads, latest.sites->reads, mine, site_of(pc), order);
  }
}

void copy_cell(CellRef from, CellRef to) {
  *to.cell = *from.cell;
  *to.sites = *from.sites;
  if (!from.cell->has_atomics) return;
  const auto found = atomics_of_cells().find(from.cell);
  to.cell->has_atomics = found != atomics_of_cells().end();
  if (to.cell->has_atomics) {
    const Atomics copy = found->second;
    atomics_of_cells()[to.cell] = copy;
  }
}

void forget_atomics() { atomics_of_cells().clear(); }

}  // namespace pagelab::simt
