/// \file
/// All kernels of one target. The same sources are compiled once for each target, into a namespace
/// of its own, so one program holds them all and one test can run them side by side.
#pragma once

#include "gpu/kernels/cache_write/params.h"
#include "gpu/kernels/kernel_table.h"
#include "gpu/kernels/paged_attention/params.h"

namespace pagelab {

/// The launchers of one target's kernels.
struct KernelSet {
  KernelTable<CacheWriteParams> cache_write_naive;          ///< cache_write/1_naive.cuh
  KernelTable<PagedAttentionParams> paged_attention_naive;  ///< paged_attention/1_naive.cuh
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
