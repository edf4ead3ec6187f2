// Wrong in task 3: neighbours in a register are neighbours in a row of B, and should be in a column.
// Everything else is the solution's.
#pragma once

#include "lessons/07_tensor_cores/answer.h"

#define multiply_tile right_multiply_tile
#define launch_multiply_tile right_launch_multiply_tile
#include "lessons/07_tensor_cores/solution.h"
#undef multiply_tile
#undef launch_multiply_tile

namespace pagelab::lesson_07 {
inline namespace PAGELAB_TARGET {

__global__ void multiply_tile(TileParams params) {
  const int group = threadIdx.x / 4;
  const int pair = threadIdx.x % 4;

  float c[4];
  for (int part = 0; part < 4; ++part) {
    const int row = group + part / 2 * 8;
    const int column = 2 * pair + part % 2;
    c[part] = params.c[row * 8 + column];
  }

  std::uint32_t a[4];
  for (int i = 0; i < 4; ++i) {
    const int row = group + i % 2 * 8;
    const int k = 2 * pair + i / 2 * 8;
    a[i] = pair_of(params.a[row * 16 + k], params.a[row * 16 + k + 1]);
  }

  std::uint32_t b[2];
  for (int i = 0; i < 2; ++i) {
    const int k = 2 * pair + i * 8;
    b[i] = pair_of(params.b[k * 8 + group], params.b[k * 8 + (group + 1) % 8]);
  }

  float d[4];
  mma_m16n8k16_bf16(d, a, b, c);
  for (int part = 0; part < 4; ++part) {
    const int row = group + part / 2 * 8;
    const int column = 2 * pair + part % 2;
    params.d[row * 8 + column] = d[part];
  }
}

inline void launch_multiply_tile(const TileParams& params) {
  launch("multiply_tile", 1, 32, multiply_tile, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_07
