// Wrong in task 4: no shared memory, no bank conflict; but neighbouring lanes store num_keys words apart.
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
  const int d = blockIdx.y * kTileSize + threadIdx.x;
  for (int row = threadIdx.y; row < kTileSize; row += blockDim.y) {
    const int key_idx = blockIdx.x * kTileSize + row;
    if (key_idx < params.num_keys && d < params.head_size) {
      params.transposed[d * params.num_keys + key_idx] =
          params.keys[key_idx * params.head_size + d];
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
