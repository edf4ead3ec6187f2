// fragments: a tile goes to shared memory, and by ldmatrix into the registers that an mma wants.
//
// Problem  registers[step][lane][i] = two elements of A's fragment i for columns 16 · step to 16 · step + 15
// Shapes   tile [16, 64] of 16 bits, registers [4, 32, 4]
// Mapping  one warp. A lane copies chunks of 16 bytes; then the lanes give ldmatrix the addresses of rows:
//
//            lane      0 … 7       8 … 15       16 … 23      24 … 31
//            rows      0 … 7       8 … 15        0 … 7        8 … 15
//            chunk     2 · step    2 · step     2 · step + 1  2 · step + 1
//            register  a[0]        a[1]          a[2]         a[3]
//
// Cost     a row of 64 elements is 128 bytes, all 32 banks. In order, the same chunk of eight rows lies in the
//          same four banks, and ldmatrix takes eight passes a matrix. Swizzled it takes one.
// Words    ldmatrix_x4: gpu/device/ldmatrix.h. uint4 is 16 bytes, which one instruction copies.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/device/ldmatrix.h"
#include "lessons/07_tensor_cores/fragments.h"

namespace pagelab::lesson_07 {
inline namespace PAGELAB_TARGET {

// Chunks of a row.
inline constexpr int kChunksPerRow = 8;

__device__ inline int place_in_tile(bool is_swizzled, int row, int chunk) {
  const int place = is_swizzled ? chunk ^ (row % 8) : chunk;
  return row * kChunksPerRow + place;
}

__global__ void fragments(FragmentsParams params) {
  __shared__ uint4 tile[16 * kChunksPerRow];
  const int lane_idx = threadIdx.x;
  const uint4* global = reinterpret_cast<const uint4*>(params.tile);
  for (int i = lane_idx; i < 16 * kChunksPerRow; i += 32) {
    const int row = i / kChunksPerRow;
    const int chunk = i % kChunksPerRow;
    const uint4 eight_elements = global[i];
    tile[place_in_tile(params.is_swizzled, row, chunk)] = eight_elements;
  }
  __syncthreads();

  for (int step = 0; step < 4; ++step) {
    const int row = lane_idx % 16;
    const int chunk = 2 * step + lane_idx / 16;
    std::uint32_t a[4];
    ldmatrix_x4(a, &tile[place_in_tile(params.is_swizzled, row, chunk)]);
    for (int i = 0; i < 4; ++i) params.registers[(step * 32 + lane_idx) * 4 + i] = a[i];
  }
}

void launch_fragments(const FragmentsParams& params) {
  launch("fragments", 1, 32, fragments, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_07
