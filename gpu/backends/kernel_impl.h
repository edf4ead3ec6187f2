/// \file
/// What all backends that run kernels have in common: a layer whose cache lies on a device, written by
/// the cache_write kernel. What is left to each of them is which kernels attend:
///
///     class MyImpl final : public KernelImpl {
///       using KernelImpl::KernelImpl;
///       void attend(const HostBatch& batch, Tensor& output, Tensor& lse) override {
///         const DeviceBatch on_device(device(), batch, cache());
///         launch_rung(device(), kernels().paged_decode[4], on_device.params());
///         on_device.copy_results_to(output, lse);
///       }
///     };
///
/// A backend with metadata of its own copies it to the device in `attend`; one that launches several
/// kernels makes a DeviceBatch of each part of the batch, or launches them one after the other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/backends/device_batch.h"
#include "gpu/backends/device_kv_cache.h"
#include "gpu/kernels/kernel_set.h"
#include "gpu/runtime/device.h"
#include "reference/attention/cascade.h"
#include "reference/registry/backend.h"

namespace pagelab {

/// A layer of a backend whose kernels run on a device.
class KernelImpl : public AttentionImpl {
 public:
  /// \param device         where the cache will lie and the kernels run
  /// \param initial_cache  copied there
  /// \throws Error         if this build has no kernels for the device, or there is not enough memory
  KernelImpl(std::shared_ptr<Device> device, const KvCache& initial_cache);

  void do_kv_cache_update(const Tensor& key,
                          const Tensor& value,
                          const std::vector<std::int64_t>& slot_mapping) final;
  void forward(const Tensor& query,
               const Tensor& key,
               const Tensor& value,
               const CommonAttentionMetadata& metadata,
               const AttentionVariant& variant,
               Tensor& output,
               Tensor& lse) final;
  void forward_cascade(const Tensor& query,
                       const Tensor& key,
                       const Tensor& value,
                       const CommonAttentionMetadata& metadata,
                       const AttentionVariant& variant,
                       std::int64_t num_common_prefix_blocks,
                       Tensor& output,
                       Tensor& lse) final;
  KvCache kv_cache() const final { return cache_.copy_to_host(); }
  const DeviceKvCache& cache() const { return cache_; }  ///< of this layer

 protected:
  /// Attends for a batch.
  /// \param batch   valid
  /// \param output  to be set to [T, num_query_heads, head_size_v]
  /// \param lse     to be set to [num_query_heads, T], natural log
  virtual void attend(const HostBatch& batch, Tensor& output, Tensor& lse) = 0;

  /// Attends for a batch in two parts, and merges. A backend without this has no cascade.
  /// \param batch   valid
  /// \param parts   of split_cascade
  /// \param output  to be set to [T, num_query_heads, head_size_v]
  /// \param lse     to be set to [num_query_heads, T], natural log
  /// \throws Error  unless overridden
  virtual void attend_in_parts(const HostBatch& batch,
                               const CascadeParts& parts,
                               Tensor& output,
                               Tensor& lse);

  const std::shared_ptr<Device>& device() const { return device_; }  ///< where the kernels run
  const KernelSet& kernels() const { return kernels_; }              ///< compiled for the device

 private:
  std::shared_ptr<Device> device_;
  KernelSet kernels_;
  DeviceKvCache cache_;
};

/// Launches a rung of paged_decode or paged_prefill, with the workspace that it needs.
/// \param device  where the arrays lie
/// \param rung    compiled for that device
/// \param params  of a DeviceBatch, or a backend's own version of them
/// \throws Error  if the rung does not take these types or sizes
void launch_rung(const std::shared_ptr<Device>& device,
                 const TableRung<PagedAttentionParams>& rung,
                 PagedAttentionParams params);

}  // namespace pagelab
