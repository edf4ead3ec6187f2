// rms_norm: one thread block a token.
//
// Problem  output[t] = input[t] / √(mean(input[t]²) + eps) · weight, element by element.
// Shapes   input [num_tokens, size], weight [size], output [num_tokens, size]
// Mapping  thread block t → token t. Thread 0 adds the squares up while the others wait; then thread i scales the
//          elements i, i + 64, …
//
//            thread 0     x0² + x1² + x2² + …  →  root_mean_square
//            all          ─────────── barrier ───────────  x_i / root_mean_square · weight_i
//
// Cost     the token read twice and written once, and one barrier; the chain of additions limits it. A tree over all
//          threads (gpu/kernels/block_reduce) would be faster, and round in another order than the reference.
// Order    as reference/model/rms_norm.h: one chain over increasing index; the bits are the same.
// Words    __shared__ and __syncthreads(): block_reduce/1_shared_memory.cuh.
#pragma once

#include <cmath>

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/kernels/model/params.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

// static: a kernel that is no template has one definition, in one file.
static __global__ void rms_norm(RmsNormParams params) {
  __shared__ double root_mean_square[1];
  const std::int64_t token_idx = blockIdx.x;
  const double* token = params.input + token_idx * params.size;

  // Step 1: the root of the mean square
  if (threadIdx.x == 0) {
    double sum_of_squares = 0;
    for (std::int64_t i = 0; i < params.size; ++i) {
      const double x = token[i];
      sum_of_squares += x * x;
    }
    const double mean_square = sum_of_squares / static_cast<double>(params.size);
    root_mean_square[0] = sqrt(mean_square + params.eps);
  }
  __syncthreads();

  // Step 2: scale
  const double divisor = root_mean_square[0];
  for (std::int64_t i = threadIdx.x; i < params.size; i += blockDim.x) {
    params.output[token_idx * params.size + i] = token[i] / divisor * params.weight[i];
  }
}

// Normalises any number of tokens.
inline void launch_rms_norm(const RmsNormParams& params) {
  const char* const name = "model/rms_norm";
  constexpr unsigned int kThreadsPerCta = 64;
  require_range(name, "num_tokens", params.num_tokens, 0, kMostOfAModel);
  require_range(name, "size", params.size, 1, kMostOfAModel);
  const std::int64_t num_elements = params.num_tokens * params.size;
  require_array(name, "input", params.input, num_elements);
  require_array(name, "weight", params.weight, params.size);
  require_array(name, "output", params.output, num_elements);
  if (num_elements == 0) return;
  launch(name, ctas_for(params.num_tokens, 1), kThreadsPerCta, rms_norm, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
