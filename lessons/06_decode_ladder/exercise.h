// Lesson 06, the exercise: three steps of the ladder, and the reduce that one of them needs. Each kernel is
// what one has before the step. For each, delete the line that throws, run ./pagelab check 6, and
// rewrite the kernel. The text is in README.md, hints are in hints.md.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "lessons/06_decode_ladder/answer.h"
#include "lessons/checker/not_solved.h"

namespace pagelab::lesson_06 {
inline namespace PAGELAB_TARGET {

using lessons::NotSolved;

// Task 1: from a thread a key to a warp a key.
//
// Right as it is. But the lanes of a warp read elements of 32 different keys, rows apart. Let lane i take
// elements i, i + 32, … of one key, and let the lanes add up their parts by shuffles.
__global__ void warp_scores(ScoresParams params) {
  const int key_idx = blockIdx.x * blockDim.x + threadIdx.x;
  if (key_idx >= params.num_keys) return;

  const float* key = params.keys.row(key_idx);  // [head_size]
  float query_dot_key = 0.0f;
  for (int d = 0; d < params.keys.head_size; ++d) {
    query_dot_key = fused_multiply_add(params.query[d], key[d], query_dot_key);
  }
  params.scores[key_idx] = query_dot_key * params.scale;
}

inline void launch_warp_scores(const ScoresParams& params) {
  throw NotSolved{"06", 1};  // TODO(1): a warp a key
  const unsigned int num_ctas = ctas_for(params.num_keys, kThreadsPerCta);
  launch("warp_scores", num_ctas, kThreadsPerCta, warp_scores, params);
}

// Task 2: from one thread block for the whole context to one for each partition.
//
// It attends over the first 64 keys, and leaves m, l and acc, not divided by l, as if there were no
// others. Let thread block p do the same with partition p: keys 64 · p to 64 · p + 63, fewer in the last.
__global__ void partition_states(PartitionParams params) {
  __shared__ float scores[kKeysPerPartition];
  __shared__ float weights[kKeysPerPartition];
  const int num_keys = params.num_keys < kKeysPerPartition ? params.num_keys : kKeysPerPartition;
  const int thread_idx = threadIdx.x;

  if (thread_idx < num_keys) scores[thread_idx] = params.scores[thread_idx];
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
      const float* value = params.values.row(i);  // [head_size]
      acc = fused_multiply_add(weights[i], value[d], acc);
    }
    params.outputs[d] = acc;
  }
  if (thread_idx > 0) return;
  float l = 0.0f;
  for (int i = 0; i < num_keys; ++i) l = l + weights[i];
  params.maxima[0] = m;
  params.sums[0] = l;
}

inline void launch_partition_states(const PartitionParams& params) {
  throw NotSolved{"06", 2};  // TODO(2): a thread block a partition
  launch("partition_states", 1, kThreadsPerCta, partition_states, params);
}

// Task 3: the reduce over partitions.
//
// It adds up what the partitions left, as if all had the same maximum. Each has its own; and one without
// a visible key has m = −∞, l = 0, acc = 0.
__global__ void reduce_partitions(ReduceParams params) {
  for (int d = threadIdx.x; d < params.head_size; d += kThreadsPerCta) {
    float l = 0.0f;
    float acc = 0.0f;
    for (int partition = 0; partition < params.num_partitions; ++partition) {
      l = l + params.sums[partition];
      acc = acc + params.outputs[partition * params.head_size + d];
    }
    params.output[d] = acc / l;
    if (d == 0) params.lse[0] = params.maxima[0] + log_of(l);
  }
}

inline void launch_reduce_partitions(const ReduceParams& params) {
  throw NotSolved{"06", 3};  // TODO(3): the partitions' maxima differ
  launch("reduce_partitions", 1, kThreadsPerCta, reduce_partitions, params);
}

// Task 4: from a warp for each head and key to a warp a key.
//
// Right as it is. But the four query heads of the group share a KV head, and each of them loads all its
// keys. Load each element of a key once, and multiply it with the four queries.
__global__ void group_scores(GroupScoresParams params) {
  const int thread_of_grid = blockIdx.x * blockDim.x + threadIdx.x;
  const int lane_idx = thread_of_grid % kLanes;
  const int h = thread_of_grid / kLanes % kHeadsPerGroup;
  const int key_idx = thread_of_grid / kLanes / kHeadsPerGroup;
  if (key_idx >= params.num_keys) return;
  const int head_size = params.keys.head_size;
  const float* key = params.keys.row(key_idx);          // [head_size]
  const float* query = params.queries + h * head_size;  // [head_size]

  float query_dot_key = 0.0f;  // this lane's part
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
  throw NotSolved{"06", 4};  // TODO(4): load each key once
  const int num_warps = params.num_keys * kHeadsPerGroup;
  launch("group_scores", ctas_for(num_warps, kThreadsPerCta / kLanes), kThreadsPerCta, group_scores,
         params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_06
