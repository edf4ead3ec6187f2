// The kernels of the target that this file is compiled for.

#include "gpu/kernels/kernel_set.h"

#include "gpu/kernels/cascade/prefix_checks.h"
#include "gpu/kernels/launchers.h"
#include "gpu/kernels/paged_attention/tensor_core_checks.h"
#include "gpu/kernels/paged_decode/decode_checks.h"
#include "gpu/kernels/paged_decode/partitions.h"
#include "gpu/kernels/paged_prefill/head_sizes.h"
#include "gpu/kernels/unified/packed_tile.h"
#include "gpu/kernels/unified/segments.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

// paged_decode, rungs 1 to 3: one chain or tree over all keys, the maximum first.
Precision canonical_order(DType) { return Precision::canonical_float(); }

// Rungs 4 and 5: a term also passes the weight of its partition.
Precision order_of_partitions(DType) {
  Precision precision = Precision::canonical_float();
  precision.extra_roundings = 3;
  return precision;
}

// Rung 6: online softmax over the tiles of four warps, then the weights of a warp and of a partition.
Precision order_of_warps(DType) {
  Precision precision = Precision::online_float(32);
  precision.extra_roundings = 6;
  return precision;
}

// Rung 7: the same with tiles of 16 keys, and ex2_approx, which counts as five roundings instead of two. The weights
// become what the query is.
Precision order_of_tensor_core_warps(DType query) {
  Precision precision = Precision::tensor_core(query, DType::kFloat32, 64);
  precision.extra_roundings = 12;
  return precision;
}

// paged_prefill and unified, rung 1.
Precision order_of_tiles(DType) { return Precision::online_float(32); }

// Rungs 2 and 3: the weights become what the query is.
Precision order_of_tensor_cores(DType query) {
  return Precision::tensor_core(query, DType::kFloat32, 64);
}

// cascade, rung 1: a term also passes the weight of its partition.
Precision order_of_tensor_core_partitions(DType query) {
  Precision precision = Precision::tensor_core(query, DType::kFloat32, 64);
  precision.extra_roundings = 6;
  return precision;
}

// unified, rung 2: a term also passes the weight of its segment.
Precision order_of_segments(DType) {
  Precision precision = Precision::online_float(kSegmentTileKeys);
  precision.extra_roundings = 3;
  return precision;
}

// flex: softmax goes online with every key.
Precision order_key_by_key(DType) { return Precision::online_float(1); }

}  // namespace

KernelSet kernel_set() {
  return {
      .cache_write_naive = cache_write_naive_launchers(),
      .merge_states = merge_states_rung(),
      .paged_decode = {{
          {"paged_decode/1_naive", paged_decode_naive_launchers(), &canonical_order},
          {"paged_decode/2_warp", paged_decode_warp_launchers(), &canonical_order},
          {"paged_decode/3_cta", paged_decode_cta_launchers(), &canonical_order},
          {"paged_decode/4_split", paged_decode_split_launchers(), &order_of_partitions,
           &decode_workspace_floats},
          {"paged_decode/5_grouped", paged_decode_grouped_launchers(), &order_of_partitions,
           &decode_workspace_floats},
          {"paged_decode/6_pipelined", paged_decode_pipelined_launchers(), &order_of_warps,
           &decode_workspace_floats, &refusal_of_chunks},
          {"paged_decode/7_tensor_cores", paged_decode_tensor_core_launchers(),
           &order_of_tensor_core_warps, &decode_workspace_floats, &refusal_of_tensor_cores},
      }},
      .paged_prefill = {{
          {"paged_prefill/1_tiled", paged_prefill_tiled_launchers(), &order_of_tiles, nullptr,
           &refusal_of_head_sizes},
          {"paged_prefill/2_tensor_cores", paged_prefill_tensor_core_launchers(),
           &order_of_tensor_cores, nullptr, &refusal_of_tensor_cores},
          {"paged_prefill/3_pipelined", paged_prefill_pipelined_launchers(), &order_of_tensor_cores,
           nullptr, &refusal_of_tensor_cores},
      }},
      .cascade_prefix = {"cascade/1_prefix", cascade_prefix_launchers(),
                         &order_of_tensor_core_partitions, &decode_workspace_floats,
                         &refusal_of_prefix},
      .unified = {{
          {"unified/1_two_dimensional", unified_two_dimensional_launchers(), &order_of_tiles,
           nullptr, &refusal_of_packed_tile<kUnifiedKeys>},
          {"unified/2_segmented", unified_segmented_launchers(), &order_of_segments,
           &unified_workspace_floats, &refusal_of_packed_tile<kSegmentTileKeys>},
      }},
      .flex = {"flex/1_block_mask", flex_block_mask_launchers(), &order_key_by_key, nullptr,
               &refusal_of_flex},
      .model = model_kernels(),
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
