// Lesson 05, the exercise: four kernels that are not right, or not good, yet. For each, delete the line
// that throws, run ./pagelab check 5, read what the simulator says, and mend the kernel. The text is in
// README.md, hints are in hints.md.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "lessons/05_a_first_cuda_kernel/answer.h"
#include "lessons/checker/not_solved.h"

namespace pagelab::lesson_05 {
inline namespace PAGELAB_TARGET {

using lessons::NotSolved;

// Task 1: the largest of all scores.
//
// One thread block. Each thread looks at every 128th score; then a tree: at distance 64 the first 64
// threads take over what the other 64 have found, at distance 32 the first 32, and so on.
__global__ void largest_score(LargestScoreParams params) {
  __shared__ float largest[kThreadsPerCta];  // largest[t]: of thread t and those it has taken over
  const int thread_idx = threadIdx.x;

  float m = params.scores[0];
  for (int key_idx = thread_idx; key_idx < params.num_keys; key_idx += kThreadsPerCta) {
    const float score = params.scores[key_idx];
    if (score > m) m = score;
  }
  largest[thread_idx] = m;
  __syncthreads();

  for (int distance = kThreadsPerCta / 2; distance > 0; distance = distance / 2) {
    if (thread_idx < distance) {
      const float mine = largest[thread_idx];
      const float taken_over = largest[thread_idx + distance];
      largest[thread_idx] = taken_over > mine ? taken_over : mine;
    }
  }

  if (thread_idx == 0) params.largest[0] = largest[0];
}

inline void launch_largest_score(const LargestScoreParams& params) {
  throw NotSolved{"05", 1};  // TODO(1): there is a race in the kernel
  launch("largest_score", 1, kThreadsPerCta, largest_score, params);
}

// Task 2: a score for each key.
//
// One thread a key. All threads need the same query, so the thread block fetches it once, together. The
// check wants the bits of a loop that adds up product by product: keep this order.
__global__ void shared_query(SharedQueryParams params) {
  __shared__ float query[kMaxHeadSize];
  const int key_idx = blockIdx.x * kThreadsPerCta + threadIdx.x;
  if (key_idx >= params.num_keys) return;

  for (int d = threadIdx.x; d < params.head_size; d += kThreadsPerCta) {
    query[d] = params.query[d];
  }
  __syncthreads();

  const float* key = params.keys + key_idx * params.head_size;  // [head_size]
  float query_dot_key = 0.0f;
  for (int d = 0; d < params.head_size; ++d) {
    const float product = query[d] * key[d];
    query_dot_key = query_dot_key + product;
  }
  params.scores[key_idx] = query_dot_key * params.scale;
}

inline void launch_shared_query(const SharedQueryParams& params) {
  throw NotSolved{"05", 2};  // TODO(2): not every thread comes to the barrier
  const unsigned int num_ctas = ctas_for(params.num_keys, kThreadsPerCta);
  launch("shared_query", num_ctas, kThreadsPerCta, shared_query, params);
}

// Task 3: each value times the weight of its key.
//
// One thread a key: it walks along its row. Right, but look at what the lanes of a warp read together.
__global__ void weighted_values(WeightedValuesParams params) {
  const int key_idx = blockIdx.x * kThreadsPerCta + threadIdx.x;
  if (key_idx >= params.num_keys) return;
  const float weight = params.weights[key_idx];
  for (int d = 0; d < params.head_size; ++d) {
    const int element_idx = key_idx * params.head_size + d;
    const float value = params.values[element_idx];
    params.weighted[element_idx] = weight * value;
  }
}

inline void launch_weighted_values(const WeightedValuesParams& params) {
  throw NotSolved{"05", 3};  // TODO(3): neighbouring lanes should read neighbouring addresses
  const unsigned int num_ctas = ctas_for(params.num_keys, kThreadsPerCta);
  launch("weighted_values", num_ctas, kThreadsPerCta, weighted_values, params);
}

// Task 4: the keys with rows and columns exchanged.
//
// Thread block (x, y) takes the tile of keys x · 32 … and elements y · 32 …; thread (column, row) moves
// four elements into the tile along its rows, and four out of it along its columns.
__global__ void transposed_keys(TransposedKeysParams params) {
  __shared__ float tile[kTileSize][kTileSize];
  const int first_key = blockIdx.x * kTileSize;
  const int first_element = blockIdx.y * kTileSize;
  const int column = threadIdx.x;

  for (int row = threadIdx.y; row < kTileSize; row += blockDim.y) {
    const int key_idx = first_key + row;
    const int d = first_element + column;
    if (key_idx < params.num_keys && d < params.head_size) {
      tile[row][column] = params.keys[key_idx * params.head_size + d];
    }
  }
  __syncthreads();

  for (int row = threadIdx.y; row < kTileSize; row += blockDim.y) {
    const int d = first_element + row;
    const int key_idx = first_key + column;
    if (key_idx < params.num_keys && d < params.head_size) {
      params.transposed[d * params.num_keys + key_idx] = tile[column][row];
    }
  }
}

inline void launch_transposed_keys(const TransposedKeysParams& params) {
  throw NotSolved{"05", 4};  // TODO(4): 32 lanes want words of one bank
  const dim3 grid(ctas_for(params.num_keys, kTileSize), ctas_for(params.head_size, kTileSize));
  const dim3 cta(kTileSize, 8);
  launch("transposed_keys", grid, cta, transposed_keys, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_05
