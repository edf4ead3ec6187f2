#include "gpu/kernels/block_reduce/1_shared_memory.cuh"
#include "gpu/kernels/block_reduce/2_warp_shuffle.cuh"
#include "gpu/kernels/launchers.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

std::array<Rung<BlockReduceParams>, 2> block_reduce_rungs() {
  return {{
      {"block_reduce/1_shared_memory", &launch_block_reduce_shared_memory},
      {"block_reduce/2_warp_shuffle", &launch_block_reduce_warp_shuffle},
  }};
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
