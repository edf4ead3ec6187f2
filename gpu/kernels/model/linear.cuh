// linear: one thread an element of the output.
//
// Problem  output[t][j] = residual[t][j] + Σ_i input[t][i] · weight[i][j]; without a residual the sum alone.
// Shapes   input [num_tokens, input_size], weight [input_size, output_size], output [num_tokens, output_size]
// Mapping  thread j → element j % output_size of token j / output_size. The threads of a warp walk down neighbouring
//          columns of the weight, so that each step reads 32 neighbours; the element of the token is the same
//          for all of them.
// Cost     2 · input_size operations a thread, and as many reads, of which caches serve most. gpu/kernels/matmul shows
//          what a matrix product costs that is made for speed; this one is made for bits.
// Order    as reference/model/linear.h: one chain of multiply and add over increasing i, each rounded; then the
//          residual plus the sum. The bits are the same, in every batch.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/kernels/model/params.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

template <typename Input>
__global__ void linear(LinearParams<Input> params) {
  const std::int64_t flat_index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t token_idx = flat_index / params.output_size;
  if (token_idx >= params.num_tokens) return;
  const std::int64_t column = flat_index % params.output_size;
  const Input* token = params.input + token_idx * params.input_size;

  double sum = 0;
  for (std::int64_t i = 0; i < params.input_size; ++i) {
    const double factor = static_cast<double>(token[i]);
    const double product = factor * params.weight[i * params.output_size + column];
    sum += product;
  }
  const double before = params.residual != nullptr ? params.residual[flat_index] : 0.0;
  params.output[flat_index] = params.residual != nullptr ? before + sum : sum;
}

// Projects any number of tokens.
template <typename Input>
void launch_linear(const LinearParams<Input>& params) {
  const char* const name = "model/linear";
  constexpr unsigned int kThreadsPerCta = 128;
  require_range(name, "num_tokens", params.num_tokens, 0, kMostOfAModel);
  require_range(name, "input_size", params.input_size, 1, kMostOfAModel);
  require_range(name, "output_size", params.output_size, 1, kMostOfAModel);
  const std::int64_t num_elements = params.num_tokens * params.output_size;
  require_array(name, "input", params.input, params.num_tokens * params.input_size);
  require_array(name, "weight", params.weight, params.input_size * params.output_size);
  require_array(name, "output", params.output, num_elements);
  if (num_elements == 0) return;
  launch(name, ctas_for(num_elements, kThreadsPerCta), kThreadsPerCta, linear<Input>, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
