/// \file
/// What one memory instruction of a warp costs: how many sectors of global memory it touches, and how
/// often shared memory must be read or written for it. Numbers alone; nothing of a launch is known.
///
/// Abstracted: caches. Every request counts its sectors, whether or not they lie in a cache.
///
/// Source: Nsight Compute, Kernel Profiling Guide, "Metrics Decoder": request, sector, wavefront;
/// CUDA C++ Programming Guide, "Compute Capability 5.x: Shared Memory" (those of later ones refer to it).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "simulator/simt/launch.h"

namespace pagelab::simt {

/// Bytes of global memory that are moved together.
inline constexpr std::size_t kSectorBytes = 32;
/// Banks of shared memory. Neighbouring words lie in neighbouring banks.
inline constexpr unsigned int kSharedBanks = 32;
/// Bytes that a bank gives or takes at a time.
inline constexpr std::size_t kBankBytes = 4;

/// The lanes of a warp that execute one load or store together.
struct MemoryRequest {
  std::array<std::uintptr_t, kLanesPerWarp> addresses = {};  ///< [lane] first byte; of active lanes
  std::size_t bytes = 0;                                     ///< of each lane: 1, 2, 4, 8 or 16
  unsigned int mask = 0;                                     ///< active lanes
};

/// Sectors of global memory that the lanes touch, each counted once.
unsigned int sectors_of(const MemoryRequest& request);

/// The same for atomics: lanes that change the same number take turns, and a sector counts in each turn.
/// \source  Seen on an H200: docs/measurements/2026-11-29-h200-simulator.txt, histogram/1_global_atomics
unsigned int atomic_sectors_of(const MemoryRequest& request);

/// What shared memory has to do for a request.
struct SharedWork {
  unsigned int wavefronts = 0;  ///< times that the banks are read or written, one after the other
  unsigned int conflicts = 0;   ///< wavefronts beyond those that the width of the access needs
};

/// Up to 4 bytes a lane, the whole warp is served at once; 8 bytes, half a warp; 16 bytes, a quarter. Both
/// halves, or the two quarters of a half, are served at once where each lane wants the same as its
/// neighbour (lane ^ 1), or each the same as the next but one (lane ^ 2).
/// Lanes served at once that want different words of the same bank wait for each other; the same word
/// is read once for all of them.
/// \source  For neighbours that want the same, no document: 16 bytes seen on an H200
///          (docs/measurements/2026-11-29-h200-simulator.txt, matmul/2_tiled), 8 bytes taken to be alike
SharedWork shared_work_of(const MemoryRequest& request);

/// The same for atomics: lanes that change the same word wait for each other too.
SharedWork shared_atomic_work_of(const MemoryRequest& request);

}  // namespace pagelab::simt
