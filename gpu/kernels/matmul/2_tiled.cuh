// matmul, rung 2: tiles of A and B in shared memory.
//
// Problem  C = A · B: c[row][column] = Σ a[row][i] · b[i][column], in float.
// Shapes   a [m, k], b [k, n], c [m, n]
// Mapping  thread block (x, y) → a square of tile × tile elements of C; thread (x, y) of it → one.
//          Together they walk along the tiles of A's rows and down those of B's columns:
//
//                               b  ▒▒▒       each round the threads load one tile of each, an element
//                                  ███  ◀    a thread, and then multiply a row of the one with a
//              a  ▒▒▒ ███ ▒▒▒   c  ▓▓▓       column of the other
//                      ▲
//
// Cost     2 · k / tile elements read from global memory a thread, 2 · k from shared memory; two
//          barriers a tile. Shared memory limits it: two loads for each fma.
// Change   rung 1's threads each read their row and column alone; here tile of them share each
//          element, so global memory is read tile times less. On an H200, 4096 × 4096 matrices are
//          multiplied at 7.5 TFLOP/s instead of 2.9.
// Order    a chain of fma over increasing i, from +0: the bits are rung 1's.
// Expects  arrays that do not overlap.
// Words    __shared__ and __syncthreads(): block_reduce/1_shared_memory.cuh.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/kernels/matmul/params.h"
#include "reference/numerics/exact_math.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

template <unsigned int kTile>
__global__ void matmul_tiled(MatmulParams<float> params) {
  __shared__ float a_tile[kTile][kTile];  // rows of C, then i
  __shared__ float b_tile[kTile][kTile];  // i, then columns of C
  const unsigned int x = threadIdx.x;
  const unsigned int y = threadIdx.y;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * kTile + y;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kTile + x;
  const bool is_inside = row < params.m && column < params.n;

  float sum = 0.0f;
  for (std::int64_t first_i = 0; first_i < params.k; first_i += kTile) {
    // Step 1: load a tile of A and one of B
    // Threads whose element of C does not exist load too: others may need what they load.
    const std::int64_t a_column = first_i + x;
    const std::int64_t b_row = first_i + y;
    if (row < params.m && a_column < params.k) {
      const float a_element = params.a[row * params.k + a_column];
      a_tile[y][x] = a_element;
    }
    if (b_row < params.k && column < params.n) {
      const float b_element = params.b[b_row * params.n + column];
      b_tile[y][x] = b_element;
    }
    __syncthreads();

    // Step 2: multiply and add
    const std::int64_t columns_left = params.k - first_i;
    const unsigned int tile_columns =
        columns_left < kTile ? static_cast<unsigned int>(columns_left) : kTile;
    if (is_inside) {
      for (unsigned int i = 0; i < tile_columns; ++i) {
        const float a_element = a_tile[y][i];
        const float b_element = b_tile[i][x];
        sum = fused_multiply_add(a_element, b_element, sum);
      }
    }
    __syncthreads();  // before the next round overwrites what others may still read
  }

  // Step 3: store
  if (is_inside) params.c[row * params.n + column] = canonical_nan(sum);
}

// Multiplies two matrices of any size.
inline void launch_matmul_tiled(const MatmulParams<float>& params) {
  const char* const name = "matmul/2_tiled";
  require_matmul(name, params);
  require_tile(name, params.tile);
  if (params.m == 0 || params.n == 0) return;
  const dim3 grid(ctas_for(params.n, params.tile), ctas_for(params.m, params.tile));
  const dim3 cta(params.tile, params.tile);
  if (params.tile == 8) launch(name, grid, cta, matmul_tiled<8>, params);
  if (params.tile == 16) launch(name, grid, cta, matmul_tiled<16>, params);
  if (params.tile == 32) launch(name, grid, cta, matmul_tiled<32>, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
