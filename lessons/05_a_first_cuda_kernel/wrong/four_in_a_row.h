// Wrong in task 3: each thread takes four elements in a row, so lanes are 16 bytes apart.
// Everything else is the solution's.
#pragma once

#include "lessons/05_a_first_cuda_kernel/answer.h"

#define weighted_values right_weighted_values
#define launch_weighted_values launch_right_weighted_values
#include "lessons/05_a_first_cuda_kernel/solution.h"
#undef weighted_values
#undef launch_weighted_values

namespace pagelab::lesson_05 {
inline namespace PAGELAB_TARGET {

__global__ void weighted_values(WeightedValuesParams params) {
  const int first_idx = 4 * (blockIdx.x * kThreadsPerCta + threadIdx.x);
  for (int element_idx = first_idx; element_idx < first_idx + 4; ++element_idx) {
    if (element_idx >= params.num_keys * params.head_size) return;
    const float weight = params.weights[element_idx / params.head_size];
    const float value = params.values[element_idx];
    params.weighted[element_idx] = weight * value;
  }
}

inline void launch_weighted_values(const WeightedValuesParams& params) {
  const int num_elements = params.num_keys * params.head_size;
  const unsigned int num_ctas = ctas_for(num_elements, kThreadsPerCta);
  launch("weighted_values", num_ctas, kThreadsPerCta, weighted_values, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_05
