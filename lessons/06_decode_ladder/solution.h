// Lesson 06, a solution. There are others: the check judges what the kernels do.
// No #pragma once: the tests include it once for each wrong answer, which differs from it in one function.

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "lessons/06_decode_ladder/answer.h"
#include "lessons/checker/not_solved.h"

namespace pagelab::lesson_06 {
inline namespace PAGELAB_TARGET {

using lessons::NotSolved;

// A warp a key: lane i takes elements i, i + 32, … of query and key.
__global__ void warp_scores(ScoresParams params) {
  const int thread_of_grid = blockIdx.x * blockDim.x + threadIdx.x;
  const int key_idx = thread_of_grid / kLanes;
  const int lane_idx = thread_of_grid % kLanes;
  // A warp has one key, so its lanes return together: none is missing at the shuffles.
  if (key_idx >= params.num_keys) return;

  const float* key = params.keys.row(key_idx);  // [head_size]
  float query_dot_key = 0.0f;                   // this lane's part
  for (int d = lane_idx; d < params.keys.head_size; d += kLanes) {
    query_dot_key = fused_multiply_add(params.query[d], key[d], query_dot_key);
  }
  // After each step twice as many parts are in each lane's.
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

// A thread block a partition.
__global__ void partition_states(PartitionParams params) {
  __shared__ float scores[kKeysPerPartition];
  __shared__ float weights[kKeysPerPartition];
  const int partition = blockIdx.x;
  const int first_key = partition * kKeysPerPartition;
  const int keys_left = params.num_keys - first_key;  // the last partition may be shorter
  const int num_keys = keys_left < kKeysPerPartition ? keys_left : kKeysPerPartition;
  const int thread_idx = threadIdx.x;

  if (thread_idx < num_keys) scores[thread_idx] = params.scores[first_key + thread_idx];
  __syncthreads();

  // The partition's own maximum: what it contributes depends on its own keys alone.
  float m = minus_infinity();
  for (int i = 0; i < num_keys; ++i) {
    if (scores[i] > m) m = scores[i];
  }
  if (thread_idx < num_keys) weights[thread_idx] = exp_of(scores[thread_idx] - m);
  __syncthreads();

  // A thread an element of the output: neighbours read neighbouring elements of a value.
  const int head_size = params.values.head_size;
  for (int d = thread_idx; d < head_size; d += kThreadsPerCta) {
    float acc = 0.0f;
    for (int i = 0; i < num_keys; ++i) {
      const float* value = params.values.row(first_key + i);  // [head_size]
      acc = fused_multiply_add(weights[i], value[d], acc);
    }
    // Not divided by l: the reduce divides once, when it knows all partitions.
    params.outputs[partition * head_size + d] = acc;
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

// One thread block; a thread an element of the output. Lesson 04's merging, of parts that are not
// divided yet.
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
      // A partition without a visible key weighs exp(−∞) = 0. If none has one, −∞ − −∞ would be NaN.
      const float weight = has_keys ? exp_of(params.maxima[partition] - m) : 0.0f;
      const float partition_acc = params.outputs[partition * params.head_size + d];
      l = fused_multiply_add(weight, params.sums[partition], l);
      acc = fused_multiply_add(weight, partition_acc, acc);
    }
    params.output[d] = has_keys ? acc / l : 0.0f;
    if (d == 0) params.lse[0] = has_keys ? m + log_of(l) : minus_infinity();
  }
}

inline void launch_reduce_partitions(const ReduceParams& params) {
  launch("reduce_partitions", 1, kThreadsPerCta, reduce_partitions, params);
}

// A warp a key, for all heads of the group: an element of a key, once loaded, meets all their queries.
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

  float query_dot_key[kHeadsPerGroup] = {};  // this lane's parts
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
    if (lane_idx == 0) params.scores[h * params.num_keys + key_idx] = score;
  }
}

inline void launch_group_scores(const GroupScoresParams& params) {
  const unsigned int num_ctas = ctas_for(params.num_keys, kThreadsPerCta / kLanes);
  launch("group_scores", num_ctas, kThreadsPerCta, group_scores, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_06
