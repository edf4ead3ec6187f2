// The kernels of the target that this file is compiled for.

#include "gpu/kernels/kernel_set.h"

#include "gpu/kernels/launchers.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

KernelSet kernel_set() {
  return {
      .cache_write_naive = cache_write_naive_launchers(),
      .paged_decode_naive = paged_decode_naive_launchers(),
      .paged_decode_warp = paged_decode_warp_launchers(),
      .paged_prefill = {{
          {"paged_prefill/1_tiled", paged_prefill_tiled_launchers()},
      }},
      .block_reduce = block_reduce_rungs(),
      .scan_int32 = scan_int32_rungs(),
      .scan_float = scan_float_rungs(),
      .transpose = transpose_rungs(),
      .histogram = histogram_rungs(),
      .matmul = matmul_rungs(),
      .matmul_tensor_cores = matmul_tensor_cores_rung(),
  };
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
