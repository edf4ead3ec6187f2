// Wrong in task 1: one element a lane, so a head of more than 32 is cut off.
// Everything else is the solution's.
#pragma once

#include "lessons/06_decode_ladder/answer.h"

#define warp_scores right_warp_scores
#define launch_warp_scores launch_right_warp_scores
#include "lessons/06_decode_ladder/solution.h"
#undef warp_scores
#undef launch_warp_scores

namespace pagelab::lesson_06 {
inline namespace PAGELAB_TARGET {

__global__ void warp_scores(ScoresParams params) {
  const int thread_of_grid = blockIdx.x * blockDim.x + threadIdx.x;
  const int key_idx = thread_of_grid / kLanes;
  const int lane_idx = thread_of_grid % kLanes;
  if (key_idx >= params.num_keys) return;

  const float* key = params.keys.row(key_idx);  // [head_size]
  float query_dot_key = 0.0f;
  for (int d = lane_idx; d < params.keys.head_size && d < kLanes; d += kLanes) {
    query_dot_key = fused_multiply_add(params.query[d], key[d], query_dot_key);
  }
  for (int distance = kLanes / 2; distance > 0; distance = distance / 2) {
    const float other_part = __shfl_xor_sync(kAllLanes, query_dot_key, distance);
    query_dot_key = query_dot_key + other_part;
  }
  if (lane_idx == 0) params.scores[key_idx] = query_dot_key * params.scale;
}

inline void launch_warp_scores(const ScoresParams& params) {
  const unsigned int num_ctas = ctas_for(params.num_keys, kThreadsPerCta / kLanes);
  launch("warp_scores", num_ctas, kThreadsPerCta, warp_scores, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_06
