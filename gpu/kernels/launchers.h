/// \file
/// The table of launchers of each kernel, made in a source file of its own so that they compile
/// side by side. For kernel_set.cu alone.
#pragma once

#include "gpu/kernels/cache_write/params.h"
#include "gpu/kernels/kernel_table.h"
#include "gpu/kernels/paged_attention/params.h"
#include "reference/numerics/target.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// Every pair of element types of cache_write/1_naive.cuh.
KernelTable<CacheWriteParams> cache_write_naive_launchers();
/// Every pair of element types of paged_attention/1_naive.cuh.
KernelTable<PagedAttentionParams> paged_attention_naive_launchers();

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
