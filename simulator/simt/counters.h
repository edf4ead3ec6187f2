/// \file
/// What a profiler counts, counted in the simulator: requests to memory, sectors, bytes, bank
/// conflicts, barriers and shuffles, for each launch and each line of its source.
///
///     ScopedCounting counting;
///     launch(…);                                    // of a kernel that was compiled for the checks
///     print(to_string(counting.counters()));
///
/// While it counts, the lanes of a warp march in step: each waits at every access to global or shared
/// memory until the others of its warp have come or wait elsewhere; those at the first place of the
/// code then make one request, as they would on a GPU. At the end of a loop they wait in the same way.
///
/// Abstracted: arithmetic, branches and loads of parameters are not seen, so they are not counted,
/// and neither are local arrays (registers, or local memory), caches and time. The compiler of a GPU
/// lays out the code itself: it may merge or repeat an access that is one here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulator/simt/checks.h"
#include "simulator/simt/dim3.h"
#include "simulator/simt/launch.h"

namespace pagelab::simt {

/// Kinds of memory instructions.
enum class MemoryKind : std::uint8_t {
  kGlobalLoad,    ///< reads global memory
  kGlobalStore,   ///< writes it
  kGlobalAtomic,  ///< reads and writes it in one
  kAsyncCopy,     ///< cp.async: from global to shared memory
  kSharedLoad,    ///< reads shared memory
  kSharedStore,   ///< writes it
  kSharedAtomic,  ///< reads and writes it in one
};
/// How many there are.
inline constexpr std::size_t kNumMemoryKinds = 7;
/// "global load"
const char* to_string(MemoryKind kind);

/// Kinds of instructions by which threads meet.
enum class WordKind : std::uint8_t {
  kBarrier,        ///< __syncthreads and its like
  kWarpBarrier,    ///< __syncwarp
  kShuffle,        ///< __shfl_sync and its like
  kVote,           ///< __ballot_sync, __any_sync, __all_sync
  kMatch,          ///< __match_any_sync, __match_all_sync
  kWarpReduction,  ///< __reduce_add_sync and its like
  kLdmatrix,       ///< ldmatrix
  kMma,            ///< mma.sync
  kOther,          ///< any other collective of a warp
};
/// How many there are.
inline constexpr std::size_t kNumWordKinds = 9;
/// "barrier"
const char* to_string(WordKind kind);

/// What memory instructions of one kind did.
struct MemoryCounts {
  std::uint64_t requests = 0;  ///< instructions, once for each warp that executed one
  std::uint64_t lanes = 0;     ///< lanes that were active in them
  std::uint64_t bytes = 0;     ///< that these lanes asked for
  std::uint64_t sectors =
      0;  ///< of 32 bytes of global memory; the same one twice in a request is one
  std::uint64_t wavefronts = 0;  ///< passes through the banks of shared memory
  std::uint64_t conflicts = 0;   ///< wavefronts beyond those that the width of the accesses needs

  /// Adds another's counts.
  MemoryCounts& operator+=(const MemoryCounts& other);
  bool operator==(const MemoryCounts& other) const = default;  ///< all equal
};

/// Counts of a line, or of a launch.
struct Counters {
  std::array<MemoryCounts, kNumMemoryKinds> memory = {};  ///< by MemoryKind
  std::array<std::uint64_t, kNumWordKinds> words = {};    ///< by WordKind, once for each warp

  /// Of one kind.
  const MemoryCounts& of(MemoryKind kind) const { return memory[static_cast<std::size_t>(kind)]; }
  /// Of one kind.
  std::uint64_t of(WordKind kind) const { return words[static_cast<std::size_t>(kind)]; }
  /// Memory instructions of all kinds together.
  MemoryCounts all_memory() const;
  /// Adds another's counts.
  Counters& operator+=(const Counters& other);
  bool operator==(const Counters& other) const = default;  ///< all equal
};

/// Counts of one line of source.
struct LineCounters {
  std::string line;   ///< "1_naive.cuh:88"; empty for code whose line is not known
  Counters counters;  ///< what it did
};

/// Counts of one launch.
struct LaunchCounters {
  std::string kernel;               ///< its name, as in messages
  dim3 grid;                        ///< thread blocks
  dim3 cta;                         ///< threads of a thread block
  Counters totals;                  ///< of the launch
  std::vector<LineCounters> lines;  ///< by file, then by line
};

/// A table for people: a row for each line and kind of access, then the totals.
std::string to_string(const LaunchCounters& launch);

/// While it lives, launches of this host thread are counted. Those kernels must have been compiled for
/// the checks: another would make no requests that are seen, and its launch throws. Inside another
/// one, it takes its place.
class ScopedCounting {
 public:
  ScopedCounting();
  ~ScopedCounting();
  ScopedCounting(const ScopedCounting&) = delete;
  ScopedCounting& operator=(const ScopedCounting&) = delete;

  /// Counts of the launch since it began. \throws Error unless there was exactly one
  const LaunchCounters& counters() const;
  /// Counts of each launch since it began. A launch that failed is not among them.
  const std::vector<LaunchCounters>& launches() const;

 private:
  friend class CountedLaunch;
  struct Record;
  std::unique_ptr<Record> record_;
  ScopedCounting* outer_;
};

// What the simulator calls.

/// While it lives, a launch is counted, if there is a ScopedCounting. \see run_grid
class CountedLaunch {
 public:
  /// \throws Error  if there is a ScopedCounting and the kernel was not compiled for the checks
  explicit CountedLaunch(const LaunchConfig& config);
  /// The launch succeeded: its counts are kept.
  void finish();
  ~CountedLaunch();
  CountedLaunch(const CountedLaunch&) = delete;
  CountedLaunch& operator=(const CountedLaunch&) = delete;
};

/// Whether a launch of this host thread is being counted.
extern constinit thread_local bool counts_launch;

/// Whether a launch of this host thread is being counted.
inline bool is_counting() { return counts_launch; }

// The functions below are called while a launch is being counted, and only then.

/// The running thread is about to access memory. It waits here for the lanes that make the same request.
/// \param address  first byte
/// \param bytes    of the access
/// \param kind     what it does
/// \param pc       where, as source_line_of wants it
void count_access(const void* address, std::size_t bytes, AccessKind kind, const void* pc);

/// The same for an asynchronous copy.
/// \param shared        destination
/// \param bytes         of it
/// \param global        source
/// \param source_bytes  of it
/// \param pc            as for count_access
void count_copy(const void* shared,
                std::size_t bytes,
                const void* global,
                std::size_t source_bytes,
                const void* pc);

/// The running thread calls a function that was not inlined. Lanes of a warp that came to the same
/// instruction by different calls do not make one request: a GPU's compiler would have inlined them.
/// \param call  where it will return to
void note_call(const void* call);
/// It returns from there.
void note_return();

/// The running thread goes on with another block of the code. Where that is a step back, to the beginning
/// of a loop, it waits for lanes that are still on their way to the end of it.
/// \param block  an address in the block
void note_block(const void* block);

/// A warp executes a word by which its lanes meet.
/// \param word  CUDA's name for it
/// \param pc    as for count_access
void count_word(const char* word, const void* pc);

}  // namespace pagelab::simt
