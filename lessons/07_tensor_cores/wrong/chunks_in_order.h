// Wrong in task 4: right, but ldmatrix takes four times as long as it could.
// Everything else is the solution's.
#pragma once

#include "lessons/07_tensor_cores/answer.h"

#define place_of right_place_of
#define load_fragments right_load_fragments
#define launch_load_fragments right_launch_load_fragments
#include "lessons/07_tensor_cores/solution.h"
#undef place_of
#undef load_fragments
#undef launch_load_fragments

namespace pagelab::lesson_07 {
inline namespace PAGELAB_TARGET {

PAGELAB_HD inline int place_of(int row, int chunk) { return chunk + 0 * row; }

__global__ void load_fragments(LoadParams params) {
  __shared__ uint4 tile[kRows * kChunks];
  const int lane_idx = threadIdx.x;

  const uint4* global = reinterpret_cast<const uint4*>(params.tile);
  for (int i = lane_idx; i < kRows * kChunks; i += 32) {
    const int row = i / kChunks;
    const int chunk = i % kChunks;
    const uint4 eight_elements = global[i];
    tile[row * kChunks + place_of(row, chunk)] = eight_elements;
  }
  __syncthreads();

  for (int step = 0; step < kElements / 16; ++step) {
    const int row = lane_idx % 16;
    const int chunk = 2 * step + lane_idx / 16;
    std::uint32_t a[4];
    ldmatrix_x4(a, &tile[row * kChunks + place_of(row, chunk)]);
    for (int i = 0; i < 4; ++i) {
      float* fragment = params.fragments + ((step * 32 + lane_idx) * 4 + i) * 2;
      fragment[0] = first_of(a[i]);
      fragment[1] = second_of(a[i]);
    }
  }
}

inline void launch_load_fragments(const LoadParams& params) {
  launch("load_fragments", 1, 32, load_fragments, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_07
