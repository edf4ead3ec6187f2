// Wrong in task 3: no lane is far from its neighbour, because each warp has one lane: every sector is fetched eight times.
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
  const int element_idx = blockIdx.x;
  if (element_idx >= params.num_keys * params.head_size) return;
  const int key_idx = element_idx / params.head_size;
  const float weight = params.weights[key_idx];
  const float value = params.values[element_idx];
  params.weighted[element_idx] = weight * value;
}

inline void launch_weighted_values(const WeightedValuesParams& params) {
  const int num_elements = params.num_keys * params.head_size;
  const unsigned int num_ctas = ctas_for(num_elements, 1);
  launch("weighted_values", num_ctas, 1, weighted_values, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_05
