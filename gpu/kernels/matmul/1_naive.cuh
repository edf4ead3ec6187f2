// matmul, rung 1: one thread an element of C.
//
// Problem  C = A · B: c[row][column] = Σ a[row][i] · b[i][column], in float.
// Shapes   a [m, k], b [k, n], c [m, n]
// Mapping  thread block (x, y) → a square of tile × tile elements of C; thread (x, y) of it → one:
//
//                            b  ·█··        the thread of c[row][column] walks along a row of A
//                               ·█··        and down a column of B
//              a  ·····         ·█··
//                 █████      c  ·█··
//
// Cost     2 · k elements read for k multiplications: each row of A is read by n threads, each column
//          of B by m. Lanes of a warp share the row of A and read neighbours of B, so transactions
//          are used well; but for 2 operations a thread loads 8 bytes, mostly from the caches.
// Order    a chain of fma over increasing i, from +0.
// Expects  arrays that do not overlap.
// Words    threadIdx.y and blockDim.y: transpose/1_naive.cuh.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/kernels/matmul/params.h"
#include "reference/numerics/exact_math.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

__global__ void matmul_naive(MatmulParams<float> params) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * blockDim.y + threadIdx.y;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const bool is_inside = row < params.m && column < params.n;
  if (!is_inside) return;

  // Step 1: nothing here, step 2 loads what it multiplies
  // Step 2: multiply and add
  float sum = 0.0f;
  for (std::int64_t i = 0; i < params.k; ++i) {
    const float a_element = params.a[row * params.k + i];
    const float b_element = params.b[i * params.n + column];
    sum = fused_multiply_add(a_element, b_element, sum);
  }

  // Step 3: store
  params.c[row * params.n + column] = canonical_nan(sum);
}

// Multiplies two matrices of any size.
inline void launch_matmul_naive(const MatmulParams<float>& params) {
  const char* const name = "matmul/1_naive";
  require_matmul(name, params);
  require_tile(name, params.tile);
  if (params.m == 0 || params.n == 0) return;
  const dim3 grid(ctas_for(params.n, params.tile), ctas_for(params.m, params.tile));
  const dim3 cta(params.tile, params.tile);
  launch(name, grid, cta, matmul_naive, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
