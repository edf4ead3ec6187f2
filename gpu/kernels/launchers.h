/// \file
/// The table of launchers of each kernel, made in a source file of its own so that they compile
/// side by side. For kernel_set.cu alone.
#pragma once

#include <array>
#include <cstdint>

#include "gpu/kernels/block_reduce/params.h"
#include "gpu/kernels/cache_write/params.h"
#include "gpu/kernels/flex/params.h"
#include "gpu/kernels/histogram/params.h"
#include "gpu/kernels/kernel_table.h"
#include "gpu/kernels/ladder.h"
#include "gpu/kernels/matmul/params.h"
#include "gpu/kernels/merge_states/params.h"
#include "gpu/kernels/model/params.h"
#include "gpu/kernels/paged_attention/params.h"
#include "gpu/kernels/scan/params.h"
#include "gpu/kernels/transpose/params.h"
#include "reference/numerics/float_formats.h"
#include "reference/numerics/target.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// Every pair of element types of cache_write/1_naive.cuh.
KernelTable<CacheWriteParams> cache_write_naive_launchers();
/// Every pair of element types of paged_decode/1_naive.cuh.
KernelTable<PagedAttentionParams> paged_decode_naive_launchers();
/// Every pair of element types of paged_decode/2_warp.cuh.
KernelTable<PagedAttentionParams> paged_decode_warp_launchers();
/// Every pair of element types of paged_decode/3_cta.cuh.
KernelTable<PagedAttentionParams> paged_decode_cta_launchers();
/// Every pair of element types of paged_decode/4_split.cuh.
KernelTable<PagedAttentionParams> paged_decode_split_launchers();
/// Every pair of element types of paged_decode/5_grouped.cuh.
KernelTable<PagedAttentionParams> paged_decode_grouped_launchers();
/// Every pair of element types of paged_decode/6_pipelined.cuh, but for float64 caches.
KernelTable<PagedAttentionParams> paged_decode_pipelined_launchers();
/// paged_decode/7_tensor_cores.cuh; element types that it does not take are refused by their launcher.
KernelTable<PagedAttentionParams> paged_decode_tensor_core_launchers();
/// Every pair of element types of paged_prefill/1_tiled.cuh.
KernelTable<PagedAttentionParams> paged_prefill_tiled_launchers();
/// paged_prefill/2_tensor_cores.cuh; element types that it does not take are refused by their launcher.
KernelTable<PagedAttentionParams> paged_prefill_tensor_core_launchers();
/// paged_prefill/3_pipelined.cuh; likewise.
KernelTable<PagedAttentionParams> paged_prefill_pipelined_launchers();
/// Every pair of element types of unified/1_two_dimensional.cuh.
KernelTable<PagedAttentionParams> unified_two_dimensional_launchers();
/// Every pair of element types of unified/2_segmented.cuh.
KernelTable<PagedAttentionParams> unified_segmented_launchers();
/// Every pair of element types of flex/1_block_mask.cuh, with the modifiers of the contract.
KernelTable<FlexAttentionParams> flex_block_mask_launchers();
/// cascade/1_prefix.cuh; element types that it does not take are refused by their launcher.
KernelTable<PagedAttentionParams> cascade_prefix_launchers();
/// merge_states
Rung<MergeStatesParams> merge_states_rung();
/// Every kernel of model/.
ModelKernels model_kernels();

/// block_reduce, from rung 1 on; so are those below.
std::array<Rung<BlockReduceParams>, 2> block_reduce_rungs();
/// scan of integers
std::array<Rung<ScanParams<std::int32_t>>, 2> scan_int32_rungs();
/// scan of floats
std::array<Rung<ScanParams<float>>, 2> scan_float_rungs();
/// transpose
std::array<Rung<TransposeParams>, 3> transpose_rungs();
/// histogram
std::array<Rung<HistogramParams>, 2> histogram_rungs();
/// matmul of floats: rungs 1 and 2
std::array<Rung<MatmulParams<float>>, 2> matmul_rungs();
/// matmul of bfloat16: rung 3
Rung<MatmulParams<BFloat16>> matmul_tensor_cores_rung();

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
