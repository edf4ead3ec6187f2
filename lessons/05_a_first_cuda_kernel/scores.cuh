// scores: one thread a key.
//
// Problem  scores[i] = scale · query · keys[i]: how well each key fits the query.
// Shapes   query [head_size], keys [num_keys, head_size], scores [num_keys]
// Mapping  the loop over keys is gone; a grid of threads has taken its place, thread i → key i:
//
//            thread block    0             1                 2
//            thread          0 1 2 … 127     0   1   … 127     0 …  43  44 … 127
//            key             0 1 2 … 127   128 129   … 255   256 … 299      none
//
// Cost     each thread reads a whole key and the whole query: 2 · head_size loads. At every load the
//          32 lanes of a warp read 32 different rows, head_size · 4 bytes apart.
// Expects  arrays in the memory of the device; num_keys ≥ 1.
// Words    __global__ marks a kernel: a function that every thread of a launch runs. blockIdx says in
//          which thread block it runs, blockDim how many threads each of them has, threadIdx which of
//          these it is. "cta" in names is CUDA's word for a thread block, so that "block" alone is
//          a block of the cache. PAGELAB_TARGET keeps the copies of this code that the
//          compilers make apart.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "lessons/05_a_first_cuda_kernel/scores.h"

namespace pagelab::lesson_05 {
inline namespace PAGELAB_TARGET {

__global__ void scores(ScoresParams params) {
  // Which key is mine? The grid is made of whole thread blocks, so the last threads have none.
  const int key_idx = blockIdx.x * blockDim.x + threadIdx.x;
  if (key_idx >= params.num_keys) return;

  // The body of the loop.
  const float* key = params.keys + key_idx * params.head_size;  // [head_size]
  float query_dot_key = 0.0f;
  for (int d = 0; d < params.head_size; ++d) {
    const float query_element = params.query[d];
    const float key_element = key[d];
    const float product = query_element * key_element;
    query_dot_key = query_dot_key + product;
  }
  const float score = query_dot_key * params.scale;
  params.scores[key_idx] = score;
}

// As many thread blocks as it takes to have a thread for each key.
void launch_scores(const ScoresParams& params) {
  const unsigned int num_ctas = ctas_for(params.num_keys, kThreadsPerCta);
  launch("scores", num_ctas, kThreadsPerCta, scores, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_05
