// Wrong in task 2: acc is divided by l, and the reduce will divide once more.
// Everything else is the solution's.
#pragma once

#include "lessons/06_decode_ladder/answer.h"

#define partition_states right_partition_states
#define launch_partition_states launch_right_partition_states
#include "lessons/06_decode_ladder/solution.h"
#undef partition_states
#undef launch_partition_states

namespace pagelab::lesson_06 {
inline namespace PAGELAB_TARGET {

__global__ void partition_states(PartitionParams params) {
  __shared__ float scores[kKeysPerPartition];
  __shared__ float weights[kKeysPerPartition];
  const int partition = blockIdx.x;
  const int first_key = partition * kKeysPerPartition;
  const int keys_left = params.num_keys - first_key;
  const int num_keys = keys_left < kKeysPerPartition ? keys_left : kKeysPerPartition;
  const int thread_idx = threadIdx.x;

  if (thread_idx < num_keys) scores[thread_idx] = params.scores[first_key + thread_idx];
  __syncthreads();

  float m = minus_infinity();
  for (int i = 0; i < num_keys; ++i) {
    if (scores[i] > m) m = scores[i];
  }
  if (thread_idx < num_keys) weights[thread_idx] = exp_of(scores[thread_idx] - m);
  __syncthreads();

  const int head_size = params.values.head_size;
  for (int d = thread_idx; d < head_size; d += kThreadsPerCta) {
    float acc = 0.0f;
    for (int i = 0; i < num_keys; ++i) {
      const float* value = params.values.row(first_key + i);  // [head_size]
      acc = fused_multiply_add(weights[i], value[d], acc);
    }
    float l = 0.0f;
    for (int i = 0; i < num_keys; ++i) l = l + weights[i];
    params.outputs[partition * head_size + d] = acc / l;
  }
  if (thread_idx > 0) return;
  float l = 0.0f;
  for (int i = 0; i < num_keys; ++i) l = l + weights[i];
  params.maxima[partition] = m;
  params.sums[partition] = l;
}

inline void launch_partition_states(const PartitionParams& params) {
  launch("partition_states", num_partitions(params.num_keys), kThreadsPerCta, partition_states,
         params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_06
