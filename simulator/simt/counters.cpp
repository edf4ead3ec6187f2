#include "simulator/simt/counters.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>
#include <utility>

#include "simulator/simt/access_check.h"
#include "simulator/simt/error.h"
#include "simulator/simt/memory_request.h"
#include "simulator/simt/running_lane.h"
#include "simulator/simt/source_line.h"
#include "simulator/simt/thread_block.h"

namespace pagelab::simt {

constinit thread_local bool counts_launch = false;

// What a ScopedCounting has seen.
struct ScopedCounting::Record {
  LaunchConfig config;  // of the launch under way
  std::unordered_map<const void*, Counters> counters_of_pc;
  std::vector<LaunchCounters> launches;
};

namespace {

constinit thread_local ScopedCounting* current_counting = nullptr;
// Counters of the launch under way by place in the code; nullptr if it is not counted.
constinit thread_local std::unordered_map<const void*, Counters>* counters_of_pc = nullptr;

// Where an address lies.
enum class Space : std::uint8_t {
  kElsewhere,  // parameters, local arrays
  kGlobal,
  kShared,
};

Space space_of(const void* address) {
  const MemoryRegion* const region = checked_memory->region_of(address);
  if (region == nullptr) return Space::kElsewhere;
  const auto offset = static_cast<const std::byte*>(address) - region->begin;
  if (region->states[offset] == ByteState::kForeign) return Space::kElsewhere;
  const bool is_global = checked_memory->space_of(*region) == MemorySpace::kGlobal;
  return is_global ? Space::kGlobal : Space::kShared;
}

MemoryKind memory_kind(Space space, AccessKind kind) {
  const bool is_global = space == Space::kGlobal;
  switch (kind) {
    case AccessKind::kRead:
      return is_global ? MemoryKind::kGlobalLoad : MemoryKind::kSharedLoad;
    case AccessKind::kAtomic:
      return is_global ? MemoryKind::kGlobalAtomic : MemoryKind::kSharedAtomic;
    default:
      return is_global ? MemoryKind::kGlobalStore : MemoryKind::kSharedStore;
  }
}

// What a lane brings to a request.
struct LaneAccess {
  MemoryKind kind;
  std::uintptr_t address;         // in the memory that `kind` names
  std::size_t bytes;              // from there
  std::uintptr_t shared_address;  // kAsyncCopy: the destination
  std::size_t shared_bytes;       // kAsyncCopy: of it
  const void* pc;
};

// The lanes of a request that do the same: all of them, unless a generic pointer leads some of them to
// global and others to shared memory.
struct AlikeLanes {
  const LaneAccess* first = nullptr;
  unsigned int mask = 0;
  std::uint64_t bytes = 0;    // of all of them
  MemoryRequest request;      // kAsyncCopy: of the lanes that read something
  MemoryRequest destination;  // kAsyncCopy
};

// Lanes of one copy may read less than they write, or nothing, and fill up with zeros.
bool are_alike(const LaneAccess& one, const LaneAccess& other) {
  if (one.kind != other.kind) return false;
  if (one.kind == MemoryKind::kAsyncCopy) return one.shared_bytes == other.shared_bytes;
  return one.bytes == other.bytes;
}

AlikeLanes alike_lanes(const WarpExchange& lanes, unsigned int candidates) {
  AlikeLanes alike;
  for (unsigned int rest = candidates; rest != 0; rest &= rest - 1) {
    const int lane_idx = __builtin_ctz(rest);
    const LaneAccess& access = *static_cast<const LaneAccess*>(lanes.in[lane_idx]);
    if (alike.first == nullptr) alike.first = &access;
    if (!are_alike(access, *alike.first)) continue;
    alike.mask |= 1u << lane_idx;
    alike.bytes += access.bytes;
    alike.request.addresses[lane_idx] = access.address;
    alike.destination.addresses[lane_idx] = access.shared_address;
    if (access.bytes > 0) alike.request.mask |= 1u << lane_idx;
  }
  const bool is_copy = alike.first->kind == MemoryKind::kAsyncCopy;
  // A source lies at a multiple of what the copy writes: as much of it as is read is in one sector.
  alike.request.bytes = is_copy ? alike.first->shared_bytes : alike.first->bytes;
  alike.destination.bytes = alike.first->shared_bytes;
  alike.destination.mask = alike.mask;
  return alike;
}

// The widest access that the bytes are a multiple of.
std::size_t width_of_piece(std::size_t bytes) {
  for (std::size_t width : {16, 8, 4, 2}) {
    if (bytes % width == 0) return width;
  }
  return 1;
}

// One instruction: the lanes' bytes are no more than one can move.
MemoryCounts counts_of(MemoryKind kind, const MemoryRequest& request) {
  MemoryCounts counts;
  counts.requests = 1;
  counts.lanes = static_cast<std::uint64_t>(__builtin_popcount(request.mask));
  counts.bytes = counts.lanes * request.bytes;
  if (kind == MemoryKind::kSharedLoad || kind == MemoryKind::kSharedStore) {
    const SharedWork work = shared_work_of(request);
    counts.wavefronts = work.wavefronts;
    counts.conflicts = work.conflicts;
  } else if (kind == MemoryKind::kSharedAtomic) {
    const SharedWork work = shared_atomic_work_of(request);
    counts.wavefronts = work.wavefronts;
    counts.conflicts = work.conflicts;
  } else if (kind == MemoryKind::kGlobalAtomic) {
    counts.sectors = atomic_sectors_of(request);
  } else {
    counts.sectors = sectors_of(request);
  }
  return counts;
}

MemoryCounts counts_of_copy(const AlikeLanes& lanes) {
  MemoryCounts counts;
  counts.requests = 1;
  counts.lanes = static_cast<std::uint64_t>(__builtin_popcount(lanes.mask));
  counts.bytes = lanes.bytes;
  counts.sectors = sectors_of(lanes.request);
  const SharedWork work = shared_work_of(lanes.destination);
  counts.wavefronts = work.wavefronts;
  counts.conflicts = work.conflicts;
  return counts;
}

// A structure larger than an instruction moves takes several, one after the other.
void count_pieces(AlikeLanes lanes, Counters& counters) {
  const MemoryKind kind = lanes.first->kind;
  MemoryCounts& counts = counters.memory[static_cast<std::size_t>(kind)];
  if (kind == MemoryKind::kAsyncCopy) {
    counts += counts_of_copy(lanes);
    return;
  }
  const std::size_t bytes = lanes.request.bytes;
  lanes.request.bytes = width_of_piece(bytes);
  for (std::size_t done = 0; done < bytes; done += lanes.request.bytes) {
    counts += counts_of(kind, lanes.request);
    for (std::uintptr_t& address : lanes.request.addresses) address += lanes.request.bytes;
  }
}

// Lanes of a warp have come to the same place.
void count_request(const void*, const WarpExchange& lanes) {
  for (unsigned int rest = lanes.mask; rest != 0;) {
    const AlikeLanes alike = alike_lanes(lanes, rest);
    count_pieces(alike, (*counters_of_pc)[alike.first->pc]);
    rest &= ~alike.mask;
  }
}

void wait_for_request(const LaneAccess& access) {
  running_thread_block->meet_converged(&access, nullptr, {count_request, nullptr}, access.pc);
}

WordKind word_kind(const char* word) {
  const auto begins_with = [word](const char* prefix) {
    return std::strncmp(word, prefix, std::strlen(prefix)) == 0;
  };
  if (begins_with("__syncthreads")) return WordKind::kBarrier;
  if (begins_with("__syncwarp")) return WordKind::kWarpBarrier;
  if (begins_with("__shfl")) return WordKind::kShuffle;
  if (begins_with("__ballot") || begins_with("__any") || begins_with("__all")) {
    return WordKind::kVote;
  }
  if (begins_with("__match")) return WordKind::kMatch;
  if (begins_with("__reduce")) return WordKind::kWarpReduction;
  if (begins_with("ldmatrix")) return WordKind::kLdmatrix;
  if (begins_with("mma")) return WordKind::kMma;
  return WordKind::kOther;
}

// The file of "1_naive.cuh:88", and the number of the line, by which lines are put in order.
std::pair<std::string, int> file_and_number(const std::string& line) {
  const std::size_t colon = line.rfind(':');
  if (colon == std::string::npos) return {line, 0};
  return {line.substr(0, colon), std::atoi(line.c_str() + colon + 1)};
}

// Several instructions may belong to one line.
std::vector<LineCounters> lines_of(const std::unordered_map<const void*, Counters>& of_pc) {
  std::map<std::pair<std::string, int>, LineCounters> in_order;
  for (const auto& [pc, counters] : of_pc) {
    const std::string line = source_line_of(pc);
    LineCounters& line_counters = in_order[file_and_number(line)];
    line_counters.line = line;
    line_counters.counters += counters;
  }
  std::vector<LineCounters> lines;
  for (auto& [place, line] : in_order) lines.push_back(std::move(line));
  return lines;
}

}  // namespace

ScopedCounting::ScopedCounting()
    : record_(std::make_unique<Record>()), outer_(std::exchange(current_counting, this)) {}

ScopedCounting::~ScopedCounting() { current_counting = outer_; }

const std::vector<LaunchCounters>& ScopedCounting::launches() const { return record_->launches; }

const LaunchCounters& ScopedCounting::counters() const {
  const std::size_t num_launches = record_->launches.size();
  if (num_launches == 1) return record_->launches.front();
  throw Error(std::to_string(num_launches) +
              " launches were counted, but counters() is for one: launches() has them all.");
}

CountedLaunch::CountedLaunch(const LaunchConfig& config) {
  if (current_counting == nullptr) return;
  if (config.checks != Checks::kOn) {
    throw Error(
        std::string("kernel ") + config.kernel +
        " cannot be counted: it was not compiled for the checks, so that its accesses are not "
        "seen. Launch it on the checked simulator.");
  }
  ScopedCounting::Record& record = *current_counting->record_;
  record.config = config;
  record.counters_of_pc.clear();
  counters_of_pc = &record.counters_of_pc;
  counts_launch = true;
}

void CountedLaunch::finish() {
  if (!counts_launch) return;
  ScopedCounting::Record& record = *current_counting->record_;
  LaunchCounters launch;
  launch.kernel = record.config.kernel;
  launch.grid = record.config.grid;
  launch.cta = record.config.cta;
  launch.lines = lines_of(record.counters_of_pc);
  for (const LineCounters& line : launch.lines) launch.totals += line.counters;
  record.launches.push_back(std::move(launch));
}

CountedLaunch::~CountedLaunch() {
  counts_launch = false;
  counters_of_pc = nullptr;
}

void count_access(const void* address, std::size_t bytes, AccessKind kind, const void* pc) {
  if (checked_memory == nullptr) return;  // code of the host's
  const Space space = space_of(address);
  if (space == Space::kElsewhere) return;
  const auto first_byte = reinterpret_cast<std::uintptr_t>(address);
  wait_for_request({memory_kind(space, kind), first_byte, bytes, 0, 0, pc});
}

void count_copy(const void* shared,
                std::size_t bytes,
                const void* global,
                std::size_t source_bytes,
                const void* pc) {
  const auto source = reinterpret_cast<std::uintptr_t>(global);
  const auto destination = reinterpret_cast<std::uintptr_t>(shared);
  wait_for_request({MemoryKind::kAsyncCopy, source, source_bytes, destination, bytes, pc});
}

void note_call(const void* call) {
  if (running_thread_block != nullptr) running_thread_block->enter_function(call);
}

void note_return() {
  if (running_thread_block != nullptr) running_thread_block->leave_function();
}

void note_block(const void* block) {
  if (running_thread_block != nullptr) running_thread_block->enter_block(block);
}

void count_word(const char* word, const void* pc) {
  ++(*counters_of_pc)[pc].words[static_cast<std::size_t>(word_kind(word))];
}

}  // namespace pagelab::simt
