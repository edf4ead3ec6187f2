// silu_and_mul and round_to_float: one thread an element.
//
// Problem  silu_and_mul: output[i] = gate[i] / (1 + e^−gate[i]) · up[i]. round_to_float: output[i] = input[i] as float32.
// Shapes   [num_elements], whatever they are rows of
// Mapping  thread i → element i
// Cost     each element read and written once; silu's exponential and division in float64 limit it on a GPU.
// Order    as reference/model/swiglu.h, with its exact_exp; the bits are the same.
// Source   vLLM csrc/activation_kernels.cu, silu_and_mul. Differs: it takes gate and up as halves of one matrix, which
//          one product has made.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/kernels/model/params.h"
#include "reference/numerics/exact_exp.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

// static: a kernel that is no template has one definition, in one file.
static __global__ void silu_and_mul(SiluAndMulParams params) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= params.num_elements) return;
  const double gate = params.gate[i];
  const double silu = gate / (1.0 + exact_exp(-gate));
  params.output[i] = silu * params.up[i];
}

static __global__ void round_to_float(RoundToFloatParams params) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= params.num_elements) return;
  params.output[i] = static_cast<float>(params.input[i]);
}

// Gates any number of elements.
inline void launch_silu_and_mul(const SiluAndMulParams& params) {
  const char* const name = "model/silu_and_mul";
  constexpr unsigned int kThreadsPerCta = 256;
  require_range(name, "num_elements", params.num_elements, 0, std::int64_t{1} << 40);
  require_array(name, "gate", params.gate, params.num_elements);
  require_array(name, "up", params.up, params.num_elements);
  require_array(name, "output", params.output, params.num_elements);
  if (params.num_elements == 0) return;
  launch(name, ctas_for(params.num_elements, kThreadsPerCta), kThreadsPerCta, silu_and_mul, params);
}

// Rounds any number of elements.
inline void launch_round_to_float(const RoundToFloatParams& params) {
  const char* const name = "model/round_to_float";
  constexpr unsigned int kThreadsPerCta = 256;
  require_range(name, "num_elements", params.num_elements, 0, std::int64_t{1} << 40);
  require_array(name, "input", params.input, params.num_elements);
  require_array(name, "output", params.output, params.num_elements);
  if (params.num_elements == 0) return;
  launch(name, ctas_for(params.num_elements, kThreadsPerCta), kThreadsPerCta, round_to_float,
         params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
