/// \file
/// All kernels of one target. The same sources are compiled once for each target, into a namespace
/// of its own, so one program holds them all and one test can run them side by side.
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

namespace pagelab {

/// The launchers of one target's kernels.
struct KernelSet {
  KernelTable<CacheWriteParams> cache_write_naive;  ///< cache_write/1_naive.cuh
  Rung<MergeStatesParams> merge_states;             ///< merge_states/1_naive.cuh

  std::array<TableRung<PagedAttentionParams>, 7> paged_decode;   ///< paged_decode/, every rung
  std::array<TableRung<PagedAttentionParams>, 3> paged_prefill;  ///< paged_prefill/, every rung

  TableRung<PagedAttentionParams> cascade_prefix;  ///< cascade/1_prefix.cuh

  std::array<TableRung<PagedAttentionParams>, 2> unified;  ///< unified/, the two forms
  TableRung<FlexAttentionParams> flex;                     ///< flex/1_block_mask.cuh

  ModelKernels model;  ///< model/: a Llama's layers around attention

  // Kernels to learn from, each ladder from its first rung to its last.
  std::array<Rung<BlockReduceParams>, 2> block_reduce;       ///< block_reduce/
  std::array<Rung<ScanParams<std::int32_t>>, 2> scan_int32;  ///< scan/
  std::array<Rung<ScanParams<float>>, 2> scan_float;         ///< scan/
  std::array<Rung<TransposeParams>, 3> transpose;            ///< transpose/
  std::array<Rung<HistogramParams>, 2> histogram;            ///< histogram/
  std::array<Rung<MatmulParams<float>>, 2> matmul;           ///< matmul/, rungs 1 and 2
  Rung<MatmulParams<BFloat16>> matmul_tensor_cores;          ///< matmul/, rung 3
};

namespace on_cuda {
/// The kernels compiled by nvcc. Linked only where there was one.
KernelSet kernel_set();
}  // namespace on_cuda

namespace on_simulator {
/// The kernels compiled by g++, for speed.
KernelSet kernel_set();
}  // namespace on_simulator

namespace on_checked_simulator {
/// The kernels compiled by g++, with every access to device memory checked.
KernelSet kernel_set();
}  // namespace on_checked_simulator

}  // namespace pagelab
