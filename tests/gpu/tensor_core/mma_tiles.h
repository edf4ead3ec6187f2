/// \file
/// A kernel that runs one mma of gpu/device/mma.h a warp on tiles that lie in memory by rows.
#pragma once

#include <cstdint>

namespace pagelab::test {

/// What the kernel gets; each tile is one instruction.
struct MmaTilesParams {
  const std::uint16_t* a = nullptr;  ///< [num_tiles, 16, depth]
  const std::uint16_t* b = nullptr;  ///< [num_tiles, depth, 8]
  const float* c = nullptr;          ///< [num_tiles, 16, 8]
  float* d = nullptr;                ///< [num_tiles, 16, 8]
  int num_tiles = 0;                 ///< warps
  int depth = 16;                    ///< 16 or 8: m16n8k16 or m16n8k8
  bool is_bfloat16 = true;           ///< else float16
};

/// Launches the kernel.
using MmaTiles = void (*)(const MmaTilesParams& params);

}  // namespace pagelab::test

namespace pagelab::on_cuda {
/// Launches the kernel that nvcc compiled.
void mma_tiles(const test::MmaTilesParams& params);
}  // namespace pagelab::on_cuda

namespace pagelab::on_simulator {
/// Runs the kernel that g++ compiled.
void mma_tiles(const test::MmaTilesParams& params);
}  // namespace pagelab::on_simulator

namespace pagelab::on_checked_simulator {
/// Runs the kernel that g++ compiled with every access checked.
void mma_tiles(const test::MmaTilesParams& params);
}  // namespace pagelab::on_checked_simulator
