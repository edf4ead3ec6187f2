/// \file
/// The kernel of fragments.cuh, launched in the checked simulator: what is in the registers, and what the
/// loads from shared memory took.
#pragma once

#include <vector>

#include "gpu/runtime/device_array.h"
#include "lessons/07_tensor_cores/fragments.h"
#include "simulator/simt/counters.h"

namespace pagelab::lesson_07 {

/// Each element of the tile is its own number, row · 64 + column.
struct LoadedFragments {
  std::uint32_t registers[4][32]
                         [4];  ///< [step, lane, register] two elements, the first in the lower half
  simt::MemoryCounts loads;    ///< from shared memory

  /// \param is_swizzled  as the kernel wants it
  explicit LoadedFragments(bool is_swizzled) {
    const auto device = checked_simulator_device();
    std::vector<std::uint16_t> tile;
    for (int i = 0; i < 16 * 64; ++i) tile.push_back(static_cast<std::uint16_t>(i));
    const DeviceArray tile_array = DeviceArray::copy_of(device, tile, "tile");
    const DeviceArray register_array(device, sizeof registers, "registers");
    const simt::ScopedCounting counting;
    on_checked_simulator::launch_fragments(
        {tile_array.as<std::uint16_t>(), register_array.as<std::uint32_t>(), is_swizzled});
    loads = counting.counters().totals.of(simt::MemoryKind::kSharedLoad);
    register_array.copy_to(registers);
  }
};

}  // namespace pagelab::lesson_07
