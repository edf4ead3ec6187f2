#include "gpu/kernels/launchers.h"
#include "gpu/kernels/matmul/1_naive.cuh"
#include "gpu/kernels/matmul/2_tiled.cuh"
#include "gpu/kernels/matmul/3_tensor_cores.cuh"

namespace pagelab {
inline namespace PAGELAB_TARGET {

std::array<Rung<MatmulParams<float>>, 2> matmul_rungs() {
  return {{
      {"matmul/1_naive", &launch_matmul_naive},
      {"matmul/2_tiled", &launch_matmul_tiled},
  }};
}

Rung<MatmulParams<BFloat16>> matmul_tensor_cores_rung() {
  return {"matmul/3_tensor_cores", &launch_matmul_tensor_cores};
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
