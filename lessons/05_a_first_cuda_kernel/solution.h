// Lesson 05, a solution. There are others: the check judges what the kernels do.
// No #pragma once: the tests include it once for each wrong answer, which differs from it in one function.

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "lessons/05_a_first_cuda_kernel/answer.h"
#include "lessons/checker/not_solved.h"

namespace pagelab::lesson_05 {
inline namespace PAGELAB_TARGET {

using lessons::NotSolved;

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
    // What is read at the next distance was written at this one, by other threads. Outside of the `if`,
    // because all threads must come.
    __syncthreads();
  }

  if (thread_idx == 0) params.largest[0] = largest[0];
}

inline void launch_largest_score(const LargestScoreParams& params) {
  launch("largest_score", 1, kThreadsPerCta, largest_score, params);
}

// One thread a key. All threads need the same query, so the thread block fetches it once, together.
__global__ void shared_query(SharedQueryParams params) {
  __shared__ float query[kMaxHeadSize];
  const int key_idx = blockIdx.x * kThreadsPerCta + threadIdx.x;

  // A thread without a key helps to fetch the query all the same, and comes to the barrier.
  for (int d = threadIdx.x; d < params.head_size; d += kThreadsPerCta) {
    query[d] = params.query[d];
  }
  __syncthreads();
  if (key_idx >= params.num_keys) return;

  const float* key = params.keys + key_idx * params.head_size;  // [head_size]
  float query_dot_key = 0.0f;
  for (int d = 0; d < params.head_size; ++d) {
    const float product = query[d] * key[d];
    query_dot_key = query_dot_key + product;
  }
  params.scores[key_idx] = query_dot_key * params.scale;
}

inline void launch_shared_query(const SharedQueryParams& params) {
  const unsigned int num_ctas = ctas_for(params.num_keys, kThreadsPerCta);
  launch("shared_query", num_ctas, kThreadsPerCta, shared_query, params);
}

// One thread an element: neighbours in a warp are neighbours in memory.
__global__ void weighted_values(WeightedValuesParams params) {
  const int element_idx = blockIdx.x * kThreadsPerCta + threadIdx.x;
  if (element_idx >= params.num_keys * params.head_size) return;
  const int key_idx = element_idx / params.head_size;
  const float weight = params.weights[key_idx];
  const float value = params.values[element_idx];
  params.weighted[element_idx] = weight * value;
}

inline void launch_weighted_values(const WeightedValuesParams& params) {
  const int num_elements = params.num_keys * params.head_size;
  const unsigned int num_ctas = ctas_for(num_elements, kThreadsPerCta);
  launch("weighted_values", num_ctas, kThreadsPerCta, weighted_values, params);
}

// Thread block (x, y) takes the tile of keys x · 32 … and elements y · 32 …; thread (column, row) moves
// four elements into the tile along its rows, and four out of it along its columns.
__global__ void transposed_keys(TransposedKeysParams params) {
  // One column more than is used: the elements of a column are then 33 words apart, each in another of
  // the 32 banks, where 32 words would put them all into one.
  __shared__ float tile[kTileSize][kTileSize + 1];
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
  const dim3 grid(ctas_for(params.num_keys, kTileSize), ctas_for(params.head_size, kTileSize));
  const dim3 cta(kTileSize, 8);
  launch("transposed_keys", grid, cta, transposed_keys, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_05
