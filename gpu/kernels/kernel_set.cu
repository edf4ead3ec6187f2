// The kernels of the target that this file is compiled for.

#include "gpu/kernels/kernel_set.h"

#include "gpu/kernels/launchers.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

KernelSet kernel_set() {
  return {
      .cache_write_naive = cache_write_naive_launchers(),
      .merge_states = merge_states_rung(),
      .paged_decode = {{
          {"paged_decode/1_naive", paged_decode_naive_launchers()},
          {"paged_decode/2_warp", paged_decode_warp_launchers()},
          {"paged_decode/3_cta", paged_decode_cta_launchers()},
          {"paged_decode/4_split", paged_decode_split_launchers()},
          {"paged_decode/5_grouped", paged_decode_grouped_launchers()},
          {"paged_decode/6_pipelined", paged_decode_pipelined_launchers()},
      }},
      .paged_prefill = {{
          {"paged_prefill/1_tiled", paged_prefill_tiled_launchers()},
          {"paged_prefill/2_tensor_cores", paged_prefill_tensor_core_launchers()},
          {"paged_prefill/3_pipelined", paged_prefill_pipelined_launchers()},
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
