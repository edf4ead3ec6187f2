// Wrong in task 4: scores are stored by key and then by head.
// Everything else is the solution's.
#pragma once

#include "lessons/06_decode_ladder/answer.h"

#define group_scores right_group_scores
#define launch_group_scores launch_right_group_scores
#include "lessons/06_decode_ladder/solution.h"
#undef group_scores
#undef launch_group_scores

namespace pagelab::lesson_06 {
inline namespace PAGELAB_TARGET {

__global__ void group_scores(GroupScoresParams params) {
  __shared__ float queries[kHeadsPerGroup * kMaxHeadSize];
  const int head_size = params.keys.head_size;
  for (int i = threadIdx.x; i < kHeadsPerGroup * head_size; i += kThreadsPerCta) {
    queries[i] = params.queries[i];
  }
  __syncthreads();

  const int thread_of_grid = blockIdx.x * blockDim.x + threadIdx.x;
  const int key_idx = thread_of_grid / kLanes;
  const int lane_idx = thread_of_grid % kLanes;
  if (key_idx >= params.num_keys) return;
  const float* key = params.keys.row(key_idx);  // [head_size]

  float query_dot_key[kHeadsPerGroup] = {};
  for (int d = lane_idx; d < head_size; d += kLanes) {
    const float key_element = key[d];
    for (int h = 0; h < kHeadsPerGroup; ++h) {
      const float query_element = queries[h * head_size + d];
      query_dot_key[h] = fused_multiply_add(query_element, key_element, query_dot_key[h]);
    }
  }
  for (int h = 0; h < kHeadsPerGroup; ++h) {
    for (int distance = kLanes / 2; distance > 0; distance = distance / 2) {
      const float other_part = __shfl_xor_sync(kAllLanes, query_dot_key[h], distance);
      query_dot_key[h] = query_dot_key[h] + other_part;
    }
    const float score = query_dot_key[h] * params.scale;
    if (lane_idx == 0) params.scores[key_idx * kHeadsPerGroup + h] = score;
  }
}

inline void launch_group_scores(const GroupScoresParams& params) {
  const unsigned int num_ctas = ctas_for(params.num_keys, kThreadsPerCta / kLanes);
  launch("group_scores", num_ctas, kThreadsPerCta, group_scores, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_06
