/// \file
/// Cascade attention on a device: what FLASH_ATTN and FLASHINFER have in common. How the parts come about is
/// reference/attention/cascade.h; which kernels attend over them is each backend's own.
#pragma once

#include <memory>

#include "gpu/backends/device_batch.h"
#include "gpu/backends/device_kv_cache.h"
#include "gpu/backends/rung_choice.h"
#include "gpu/kernels/kernel_set.h"
#include "gpu/runtime/device.h"
#include "reference/attention/cascade.h"

namespace pagelab {

/// The kernels that attend over the two parts.
struct CascadeRungs {
  AttentionRung prefix;  ///< all queries as one request
  AttentionRung suffix;  ///< every request
};

/// The prefix part as a batch. Query, key and value are the step's.
/// \param batch  the step
/// \param parts  of it; outlive the result
HostBatch prefix_batch(const HostBatch& batch, const CascadeParts& parts);
/// The suffix part as a batch. Query, key and value are the step's.
/// \param batch  the step
/// \param parts  of it; outlive the result
HostBatch suffix_batch(const HostBatch& batch, const CascadeParts& parts);

/// What merges the results of both parts' launches, in the place of the suffix's.
/// \param prefix  its launch
/// \param suffix  its launch, of as many tokens
MergeStatesParams merge_into_suffix(const PagedAttentionParams& prefix,
                                    const PagedAttentionParams& suffix);

/// Three launches, the second of which may follow on the first at once: the prefix, the suffix, merge_states. Between
/// them nothing leaves the device.
/// \param device   where the cache lies
/// \param kernels  compiled for it
/// \param cache    of the layer
/// \param batch    the step
/// \param parts    of it
/// \param rungs    that attend
/// \param output   set to float32 [T, num_query_heads, head_size_v]
/// \param lse      set to float32 [num_query_heads, T]
/// \throws Error   if a rung does not take the step, or a kernel failed
void attend_by_rungs(const std::shared_ptr<Device>& device,
                     const KernelSet& kernels,
                     const DeviceKvCache& cache,
                     const HostBatch& batch,
                     const CascadeParts& parts,
                     const CascadeRungs& rungs,
                     Tensor& output,
                     Tensor& lse);

/// Merges results that are on the host.
/// \param device         where it is done
/// \param kernels        compiled for it
/// \param prefix_output  float32 [T, num_query_heads, head_size_v]
/// \param prefix_lse     float32 [num_query_heads, T]
/// \param output         of the suffix; becomes the merged one
/// \param lse            of the suffix; becomes the merged one
/// \throws Error         if there is not enough device memory, or the kernel failed
void merge_into(const std::shared_ptr<Device>& device,
                const KernelSet& kernels,
                const Tensor& prefix_output,
                const Tensor& prefix_lse,
                Tensor& output,
                Tensor& lse);

}  // namespace pagelab
