// transpose, rung 3: a tile whose rows are 33 words apart.
//
// Problem  output[c][r] = input[r][c].
// Shapes   input [rows, columns], output [columns, rows]
// Mapping  thread block (x, y) → the tile of 32 × 32 elements at row 32y, column 32x. Thread (x, y) of
//          it reads column x of the rows y, y + blockDim.y, …, and writes element x of the output rows
//          y, y + blockDim.y, …: other elements than it read.
//
//            input row r   ████████ ──▶ tile[y][·] ────┐  a warp writes a row of the tile,
//            output row c  ████████ ◀── tile[·][y] ◀───┘  and reads a column of it
//
// Cost     8 · rows · columns bytes, each sector used in full; one barrier; one wavefront for each
//          access of a warp to the tile. Memory limits it.
// Change   one word of padding a row: tile[y][x] lies in bank (33y + x) % 32 = (y + x) % 32, so the
//          elements of a column lie in 32 different banks, as those of a row do.
//
//            rung 2, banks of a column:  5 5 5 5 …     here:  5 6 7 8 …
//
//          On an H200, 8192 × 8192 elements take 226 µs instead of 392: 56 % of a copy's speed.
// Expects  arrays that do not overlap; thread blocks of whole warps.
// Words    banks and wavefronts: 2_shared_tile.cuh.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/kernels/transpose/params.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

__global__ void transpose_padded_tile(TransposeParams params) {
  __shared__ float tile[kTransposeTile][kTransposeTile + 1];  // the last column is never used
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * kTransposeTile;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kTransposeTile;

  // Step 1: read
  // A warp reads a row of the input into a row of the tile.
  for (unsigned int y = threadIdx.y; y < kTransposeTile; y += blockDim.y) {
    const std::int64_t row = first_row + y;
    const std::int64_t column = first_column + threadIdx.x;
    if (row < params.rows && column < params.columns) {
      const float element = params.input[row * params.columns + column];
      tile[y][threadIdx.x] = element;
    }
  }
  __syncthreads();

  // Step 2: write
  // A warp writes a row of the output, which is a column of the tile.
  for (unsigned int y = threadIdx.y; y < kTransposeTile; y += blockDim.y) {
    const std::int64_t row = first_row + threadIdx.x;
    const std::int64_t column = first_column + y;
    if (row < params.rows && column < params.columns) {
      const float element = tile[threadIdx.x][y];
      params.output[column * params.rows + row] = element;
    }
  }
}

// Transposes a matrix of any size.
inline void launch_transpose_padded_tile(const TransposeParams& params) {
  const char* const name = "transpose/3_padded_tile";
  require_transpose(name, params);
  if (params.rows == 0 || params.columns == 0) return;
  const dim3 grid(ctas_for(params.columns, kTransposeTile), ctas_for(params.rows, kTransposeTile));
  const dim3 cta(kTransposeTile, params.threads_per_cta / kTransposeTile);
  launch(name, grid, cta, transpose_padded_tile, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
