// Wrong in task 4: the kernel as the exercise has it: the words of a column lie in one bank.
// Everything else is the solution's.
#pragma once

#include "lessons/05_a_first_cuda_kernel/answer.h"

#define transposed_keys right_transposed_keys
#define launch_transposed_keys launch_right_transposed_keys
#include "lessons/05_a_first_cuda_kernel/solution.h"
#undef transposed_keys
#undef launch_transposed_keys

namespace pagelab::lesson_05 {
inline namespace PAGELAB_TARGET {

__global__ void transposed_keys(TransposedKeysParams params) {
  __shared__ float tile[kTileSize][kTileSize];
  const int first_key = blockIdx.x * kTileSize;
  const int first_element = blockIdx.y * kTileSize;
  const int column = threadIdx.x;

  for (int row = threadIdx.y; row < kTileSize; row += blockDim.y) {
    const int key_idx = first_key + row;
    const int d = first_element + column;
    if (key_idx < params.num_keys && d < params.head_size) {
      tile[row][column] = params.keys[key_idx * params.head_size + d];
    }
  }
  __syncthreads();

  for (int row = threadIdx.y; row < kTileSize; row += blockDim.y) {
    const int d = first_element + row;
    const int key_idx = first_key + column;
    if (key_idx < params.num_keys && d < params.head_size) {
      params.transposed[d * params.num_keys + key_idx] = tile[column][row];
    }
  }
}

inline void launch_transposed_keys(const TransposedKeysParams& params) {
  const dim3 grid(ctas_for(params.num_keys, kTileSize), ctas_for(params.head_size, kTileSize));
  const dim3 cta(kTileSize, 8);
  launch("transposed_keys", grid, cta, transposed_keys, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_05
