// Wrong in task 3: the LSE lacks the maximum that was taken out.
// Everything else is the solution's.
#pragma once

#include "lessons/06_decode_ladder/answer.h"

#define reduce_partitions right_reduce_partitions
#define launch_reduce_partitions launch_right_reduce_partitions
#include "lessons/06_decode_ladder/solution.h"
#undef reduce_partitions
#undef launch_reduce_partitions

namespace pagelab::lesson_06 {
inline namespace PAGELAB_TARGET {

__global__ void reduce_partitions(ReduceParams params) {
  float m = minus_infinity();
  for (int partition = 0; partition < params.num_partitions; ++partition) {
    if (params.maxima[partition] > m) m = params.maxima[partition];
  }
  const bool has_keys = m > minus_infinity();

  for (int d = threadIdx.x; d < params.head_size; d += kThreadsPerCta) {
    float l = 0.0f;
    float acc = 0.0f;
    for (int partition = 0; partition < params.num_partitions; ++partition) {
      const float weight = has_keys ? exp_of(params.maxima[partition] - m) : 0.0f;
      const float partition_acc = params.outputs[partition * params.head_size + d];
      l = fused_multiply_add(weight, params.sums[partition], l);
      acc = fused_multiply_add(weight, partition_acc, acc);
    }
    params.output[d] = has_keys ? acc / l : 0.0f;
    if (d == 0) params.lse[0] = has_keys ? log_of(l) : minus_infinity();
  }
}

inline void launch_reduce_partitions(const ReduceParams& params) {
  launch("reduce_partitions", 1, kThreadsPerCta, reduce_partitions, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_06
