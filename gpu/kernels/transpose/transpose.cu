#include "gpu/kernels/launchers.h"
#include "gpu/kernels/transpose/1_naive.cuh"
#include "gpu/kernels/transpose/2_shared_tile.cuh"
#include "gpu/kernels/transpose/3_padded_tile.cuh"

namespace pagelab {
inline namespace PAGELAB_TARGET {

std::array<Rung<TransposeParams>, 3> transpose_rungs() {
  return {{
      {"transpose/1_naive", &launch_transpose_naive},
      {"transpose/2_shared_tile", &launch_transpose_shared_tile},
      {"transpose/3_padded_tile", &launch_transpose_padded_tile},
  }};
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
