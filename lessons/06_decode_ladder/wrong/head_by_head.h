// Wrong in task 4: right, but each of the four heads loads all the keys.
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
  const int thread_of_grid = blockIdx.x * blockDim.x + threadIdx.x;
  const int lane_idx = thread_of_grid % kLanes;
  const int h = thread_of_grid / kLanes % kHeadsPerGroup;
  const int key_idx = thread_of_grid / kLanes / kHeadsPerGroup;
  if (key_idx >= params.num_keys) return;
  const int head_size = params.keys.head_size;
  const float* key = params.keys.row(key_idx);          // [head_size]
  const float* query = params.queries + h * head_size;  // [head_size]

  float query_dot_key = 0.0f;
  for (int d = lane_idx; d < head_size; d += kLanes) {
    query_dot_key = fused_multiply_add(query[d], key[d], query_dot_key);
  }
  for (int distance = kLanes / 2; distance > 0; distance = distance / 2) {
    const float other_part = __shfl_xor_sync(kAllLanes, query_dot_key, distance);
    query_dot_key = query_dot_key + other_part;
  }
  const float score = query_dot_key * params.scale;
  if (lane_idx == 0) params.scores[h * params.num_keys + key_idx] = score;
}

inline void launch_group_scores(const GroupScoresParams& params) {
  const int num_warps = params.num_keys * kHeadsPerGroup;
  launch("group_scores", ctas_for(num_warps, kThreadsPerCta / kLanes), kThreadsPerCta, group_scores,
         params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_06
