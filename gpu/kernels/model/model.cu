#include "gpu/kernels/launchers.h"
#include "gpu/kernels/model/elementwise.cuh"
#include "gpu/kernels/model/gather_rows.cuh"
#include "gpu/kernels/model/linear.cuh"
#include "gpu/kernels/model/rms_norm.cuh"
#include "gpu/kernels/model/rotary_embedding.cuh"

namespace pagelab {
inline namespace PAGELAB_TARGET {

ModelKernels model_kernels() {
  return {
      .gather_rows = &launch_gather_rows,
      .rms_norm = &launch_rms_norm,
      .linear = &launch_linear<double>,
      .linear_of_heads = &launch_linear<float>,
      .rotary_embedding = &launch_rotary_embedding,
      .round_to_float = &launch_round_to_float,
      .silu_and_mul = &launch_silu_and_mul,
  };
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
