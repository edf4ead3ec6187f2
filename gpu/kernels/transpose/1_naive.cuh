// transpose, rung 1: each thread moves its elements itself.
//
// Problem  output[c][r] = input[r][c].
// Shapes   input [rows, columns], output [columns, rows]
// Mapping  thread block (x, y) → the tile of 32 × 32 elements at row 32y, column 32x. Thread (x, y) of
//          it → column x of the rows y, y + blockDim.y, …: a warp takes one row of the tile.
//
//            input    row r:  ████████  one warp reads 32 neighbours: 128 bytes, 4 sectors of 32
//            output   rows c, c + 1, …:  █      and writes them 32 rows apart: 32 sectors,
//                                        █      of each of which it uses 4 bytes
//                                        █
//
// Cost     8 · rows · columns bytes asked for, but the writes touch eight times their bytes: memory
//          limits it, and most of each transaction is thrown away: 12 % of a copy's speed on an H200.
// Expects  arrays that do not overlap; thread blocks of whole warps.
// Words    blockDim.y and threadIdx.y: a thread block may have a second direction. Its threads are
//          numbered row by row, so the 32 threads of one y are a warp. A sector is the 32 bytes that
//          memory is read and written in; accesses of a warp to one sector cost one.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/kernels/transpose/params.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

__global__ void transpose_naive(TransposeParams params) {
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * kTransposeTile;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kTransposeTile;

  for (unsigned int y = threadIdx.y; y < kTransposeTile; y += blockDim.y) {
    const std::int64_t row = first_row + y;
    const std::int64_t column = first_column + threadIdx.x;
    if (row < params.rows && column < params.columns) {
      // Step 1: read
      const float element = params.input[row * params.columns + column];

      // Step 2: write
      params.output[column * params.rows + row] = element;
    }
  }
}

// Transposes a matrix of any size.
inline void launch_transpose_naive(const TransposeParams& params) {
  const char* const name = "transpose/1_naive";
  require_transpose(name, params);
  if (params.rows == 0 || params.columns == 0) return;
  const dim3 grid(ctas_for(params.columns, kTransposeTile), ctas_for(params.rows, kTransposeTile));
  const dim3 cta(kTransposeTile, params.threads_per_cta / kTransposeTile);
  launch(name, grid, cta, transpose_naive, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
