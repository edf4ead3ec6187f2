// Counters as text, and their sums.

#include <cstdio>

#include "simulator/simt/counters.h"

namespace pagelab::simt {

namespace {

// "%-24s %10s %10s …": the columns of the table.
std::string row_of(const std::string& place, const std::string& kind, const MemoryCounts& counts) {
  const double sectors = static_cast<double>(counts.sectors);
  const double requests = static_cast<double>(counts.requests == 0 ? 1 : counts.requests);
  char row[256];
  std::snprintf(row, sizeof row, "%-28s %-16s %10llu %10llu %7.2f %12llu %10llu %10llu\n",
                place.c_str(), kind.c_str(), static_cast<unsigned long long>(counts.requests),
                static_cast<unsigned long long>(counts.sectors), sectors / requests,
                static_cast<unsigned long long>(counts.bytes),
                static_cast<unsigned long long>(counts.wavefronts),
                static_cast<unsigned long long>(counts.conflicts));
  return row;
}

std::string row_of_word(const std::string& place, WordKind kind, std::uint64_t count) {
  char row[128];
  std::snprintf(row, sizeof row, "%-28s %-16s %10llu\n", place.c_str(), to_string(kind),
                static_cast<unsigned long long>(count));
  return row;
}

std::string rows_of(const std::string& place, const Counters& counters) {
  std::string rows;
  for (std::size_t kind = 0; kind < kNumMemoryKinds; ++kind) {
    const MemoryCounts& counts = counters.memory[kind];
    if (counts.requests == 0) continue;
    rows += row_of(place, to_string(static_cast<MemoryKind>(kind)), counts);
  }
  for (std::size_t kind = 0; kind < kNumWordKinds; ++kind) {
    if (counters.words[kind] == 0) continue;
    rows += row_of_word(place, static_cast<WordKind>(kind), counters.words[kind]);
  }
  return rows;
}

}  // namespace

const char* to_string(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kGlobalLoad:
      return "global load";
    case MemoryKind::kGlobalStore:
      return "global store";
    case MemoryKind::kGlobalAtomic:
      return "global atomic";
    case MemoryKind::kAsyncCopy:
      return "async copy";
    case MemoryKind::kSharedLoad:
      return "shared load";
    case MemoryKind::kSharedStore:
      return "shared store";
    default:
      return "shared atomic";
  }
}

const char* to_string(WordKind kind) {
  switch (kind) {
    case WordKind::kBarrier:
      return "barrier";
    case WordKind::kWarpBarrier:
      return "warp barrier";
    case WordKind::kShuffle:
      return "shuffle";
    case WordKind::kVote:
      return "vote";
    case WordKind::kMatch:
      return "match";
    case WordKind::kWarpReduction:
      return "warp reduction";
    case WordKind::kLdmatrix:
      return "ldmatrix";
    case WordKind::kMma:
      return "mma";
    default:
      return "other collective";
  }
}

MemoryCounts& MemoryCounts::operator+=(const MemoryCounts& other) {
  requests += other.requests;
  lanes += other.lanes;
  bytes += other.bytes;
  sectors += other.sectors;
  wavefronts += other.wavefronts;
  conflicts += other.conflicts;
  return *this;
}

MemoryCounts Counters::all_memory() const {
  MemoryCounts sum;
  for (const MemoryCounts& counts : memory) sum += counts;
  return sum;
}

Counters& Counters::operator+=(const Counters& other) {
  for (std::size_t kind = 0; kind < kNumMemoryKinds; ++kind) memory[kind] += other.memory[kind];
  for (std::size_t kind = 0; kind < kNumWordKinds; ++kind) words[kind] += other.words[kind];
  return *this;
}

std::string to_string(const LaunchCounters& launch) {
  std::string text = "kernel " + launch.kernel + ", grid " + to_string(launch.grid) +
                     ", thread block " + to_string(launch.cta) + "\n";
  char header[160];
  std::snprintf(header, sizeof header, "%-28s %-16s %10s %10s %7s %12s %10s %10s\n", "line", "kind",
                "requests", "sectors", "/req", "bytes", "wavefronts", "conflicts");
  text += header;
  for (const LineCounters& line : launch.lines) {
    text += rows_of(line.line.empty() ? "(line unknown)" : line.line, line.counters);
  }
  return text + rows_of("all lines", launch.totals);
}

}  // namespace pagelab::simt
