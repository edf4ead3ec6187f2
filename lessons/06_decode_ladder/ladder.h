/// \file
/// The rungs of gpu/kernels/paged_decode, launched in the checked simulator, and what it counted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/kernels/kernel_set.h"
#include "simulator/simt/counters.h"

namespace pagelab::lesson_06 {

/// Rungs of the ladder.
inline constexpr std::size_t kNumRungs = 6;

/// "paged_decode/1_naive".
/// \param rung  from 0
inline const char* name_of(std::size_t rung) {
  return on_checked_simulator::kernel_set().paged_decode[rung].name;
}

/// Attends, with a float32 cache.
/// \param rung  from 0
/// \throws Error  for a batch that this rung cannot take
inline void launch_rung(std::size_t rung, const PagedAttentionParams& params) {
  const KernelSet set = on_checked_simulator::kernel_set();
  set.paged_decode[rung].launchers.at(DType::kFloat32, DType::kFloat32)(params);
}

/// What the launches of a rung did, all together: from rung 4 on there are two.
struct RungCounts {
  std::size_t ctas = 0;      ///< thread blocks
  std::size_t warps = 0;     ///< in all of them
  simt::MemoryCounts reads;  ///< of global memory: loads, and copies to shared memory
  double kib_read = 0;       ///< that the sectors hold
  double kib_written = 0;    ///< the same for stores
  std::size_t barriers = 0;  ///< that warps came to
  std::size_t shuffles = 0;  ///< of a warp

  /// \param counting  begun before the rung was launched
  explicit RungCounts(const simt::ScopedCounting& counting) {
    constexpr double kKibPerSector = 32.0 / 1024;
    for (const simt::LaunchCounters& one : counting.launches()) {
      ctas += one.grid.count();
      warps += one.grid.count() * (one.cta.count() / 32);
      reads += one.totals.of(simt::MemoryKind::kGlobalLoad);
      reads += one.totals.of(simt::MemoryKind::kAsyncCopy);
      const simt::MemoryCounts writes = one.totals.of(simt::MemoryKind::kGlobalStore);
      kib_written += kKibPerSector * static_cast<double>(writes.sectors);
      barriers += one.totals.of(simt::WordKind::kBarrier);
      shuffles += one.totals.of(simt::WordKind::kShuffle);
    }
    kib_read = kKibPerSector * static_cast<double>(reads.sectors);
  }
};

}  // namespace pagelab::lesson_06
