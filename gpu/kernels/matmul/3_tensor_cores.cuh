// matmul, rung 3: tensor cores.
//
// Problem  C = A · B: c[row][column] = Σ a[row][i] · b[i][column]; A and B in bfloat16, C in float.
// Shapes   a [m, k], b [k, n], c [m, n]
// Mapping  thread block (x, y) of four warps → a square of 32 × 32 elements of C; warp w → the
//          quarter of 16 × 16 at row 16 · (w / 2), column 16 · (w % 2), as two products of 16 × 8:
//
//                                b  ▒▒ ▒▒              warp 0 │ warp 1
//              16 columns at a time ██ ██  ◀           ───────┼───────    of the square
//              a  ▒▒ ██ ▒▒       c  ▓▓ ▓▓              warp 2 │ warp 3
//                    ▲
//
//          One mma multiplies 16 × 16 of A by 16 × 8 of B. Its operands are spread over the registers
//          of the warp: lane l = 4 · group + pair holds, of A, elements 2·pair, 2·pair + 1 and those
//          8 further on, of rows group and group + 8; of B, the same elements of column group; of C,
//          columns 2·pair and 2·pair + 1 of rows group and group + 8.
// Cost     a 32nd of rung 1's reads from global memory, of elements half as large. One mma is 4,096
//          operations of a warp; its operands are 6 words a lane from shared memory, gathered two
//          bytes at a time with bank conflicts. The tensor cores wait for them; ldmatrix would load
//          them faster.
// Change   rung 2 multiplied element by element, 64 operations of a warp for an fma; and its inputs
//          had 24 significant bits, where bfloat16 has 8. On an H200, 4096 × 4096 matrices are multiplied
//          at 20 TFLOP/s instead of 7.5, a small part of what the tensor cores can do.
// Order    steps of 16 over increasing i: each adds its 16 products and C in one sum, whose rounding
//          is gpu/device/mma.h's; from +0. Elements past the end of A and B count as 0.
// Expects  arrays that do not overlap.
// Words    mma_m16n8k16_bf16: gpu/device/mma.h.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/device/mma.h"
#include "gpu/kernels/matmul/params.h"
#include "reference/numerics/exact_math.h"
#include "reference/numerics/float_formats.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

// Two elements in a register, as mma wants them: the first in the lower half.
__device__ inline std::uint32_t pair_of(std::uint16_t first, std::uint16_t second) {
  const std::uint32_t upper_half = second;
  return (upper_half << 16) | first;
}

__global__ void matmul_tensor_cores(MatmulParams<BFloat16> params) {
  constexpr unsigned int kTile = 32;       // rows and columns of C a thread block
  constexpr unsigned int kTileDepth = 16;  // elements that one mma sums over
  __shared__ BFloat16 a_tile[kTile][kTileDepth];
  __shared__ BFloat16 b_tile[kTileDepth][kTile];
  const unsigned int thread_idx = threadIdx.x;
  const unsigned int warp_idx = thread_idx / kWarpSize;
  const unsigned int lane_idx = thread_idx % kWarpSize;
  const unsigned int group = lane_idx / 4;
  const unsigned int pair = lane_idx % 4;
  const unsigned int warp_row = warp_idx / 2 * 16;     // within the tile
  const unsigned int warp_column = warp_idx % 2 * 16;  // within the tile
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * kTile;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kTile;

  float sums[2][4] = {};  // this lane's part of two squares of 16 × 8
  for (std::int64_t first_i = 0; first_i < params.k; first_i += kTileDepth) {
    // Step 1: load a tile of A and one of B
    for (unsigned int idx = thread_idx; idx < kTile * kTileDepth; idx += blockDim.x) {
      const unsigned int y = idx / kTileDepth;
      const unsigned int x = idx % kTileDepth;
      const std::int64_t row = first_row + y;
      const std::int64_t a_column = first_i + x;
      const bool exists = row < params.m && a_column < params.k;
      const BFloat16 a_element = exists ? params.a[row * params.k + a_column] : BFloat16{0};
      a_tile[y][x] = a_element;
    }
    for (unsigned int idx = thread_idx; idx < kTileDepth * kTile; idx += blockDim.x) {
      const unsigned int y = idx / kTile;
      const unsigned int x = idx % kTile;
      const std::int64_t b_row = first_i + y;
      const std::int64_t column = first_column + x;
      const bool exists = b_row < params.k && column < params.n;
      const BFloat16 b_element = exists ? params.b[b_row * params.n + column] : BFloat16{0};
      b_tile[y][x] = b_element;
    }
    __syncthreads();

    // Step 2: multiply and add
    const BFloat16* upper_row = a_tile[warp_row + group];
    const BFloat16* lower_row = a_tile[warp_row + group + 8];
    const unsigned int i = 2 * pair;
    std::uint32_t a[4];
    for (unsigned int quarter = 0; quarter < 4; ++quarter) {
      const BFloat16* a_row = quarter % 2 == 0 ? upper_row : lower_row;
      const std::uint16_t a_first = a_row[i + quarter / 2 * 8].bits;
      const std::uint16_t a_second = a_row[i + quarter / 2 * 8 + 1].bits;
      a[quarter] = pair_of(a_first, a_second);
    }
    for (unsigned int half = 0; half < 2; ++half) {
      const unsigned int column = warp_column + 8 * half + group;
      const std::uint16_t b_0 = b_tile[i][column].bits;
      const std::uint16_t b_1 = b_tile[i + 1][column].bits;
      const std::uint16_t b_8 = b_tile[i + 8][column].bits;
      const std::uint16_t b_9 = b_tile[i + 9][column].bits;
      const std::uint32_t b[2] = {pair_of(b_0, b_1), pair_of(b_8, b_9)};
      mma_m16n8k16_bf16(sums[half], a, b, sums[half]);
    }
    __syncthreads();  // before the next round overwrites what others may still read
  }

  // Step 3: store
  for (unsigned int half = 0; half < 2; ++half) {
    for (unsigned int part = 0; part < 4; ++part) {
      const std::int64_t row = first_row + warp_row + group + part / 2 * 8;
      const std::int64_t column = first_column + warp_column + 8 * half + 2 * pair + part % 2;
      const bool is_inside = row < params.m && column < params.n;
      if (is_inside) params.c[row * params.n + column] = canonical_nan(sums[half][part]);
    }
  }
}

// Multiplies two matrices of any size.
inline void launch_matmul_tensor_cores(const MatmulParams<BFloat16>& params) {
  const char* const name = "matmul/3_tensor_cores";
  constexpr unsigned int kTile = 32;
  constexpr unsigned int kThreadsPerCta = 128;
  require_matmul(name, params);
  if (params.tile != kTile) {
    throw Error(std::string(name) + ": tile is " + std::to_string(params.tile) +
                ", but the tiles of this rung have 32 rows and columns.");
  }
  if (params.m == 0 || params.n == 0) return;
  const dim3 grid(ctas_for(params.n, kTile), ctas_for(params.m, kTile));
  launch(name, grid, kThreadsPerCta, matmul_tensor_cores, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
