/// \file
/// One forward pass in device memory: the step's arrays as the kernels get them, and room for the results.
#pragma once

#include <memory>

#include "gpu/backends/device_kv_cache.h"
#include "gpu/kernels/paged_attention/params.h"
#include "gpu/runtime/device_array.h"
#include "reference/contract/attention_step.h"

namespace pagelab {

/// What AttentionImpl::forward gets, valid, on the host.
struct HostBatch {
  const Tensor& query;  ///< [T, num_query_heads, head_size]
  const Tensor& key;    ///< [T, num_kv_heads, head_size], read for kEncoderOnly
  const Tensor& value;  ///< [T, num_kv_heads, head_size_v], read for kEncoderOnly
  const CommonAttentionMetadata& metadata;  ///< the batch
  const AttentionVariant& variant;          ///< the kind of attention
};

/// What a rung is chosen by: sizes, strides, lengths and types. Addresses and the variant are missing.
/// \param batch          valid
/// \param spec           of the cache
/// \param key_strides    of the cache
/// \param value_strides  of the cache
PagedAttentionParams launch_sizes(const HostBatch& batch,
                                  const KvCacheSpec& spec,
                                  const KvStrides& key_strides,
                                  const KvStrides& value_strides);
/// The same of a step that nothing has been launched for yet.
PagedAttentionParams launch_sizes(const AttentionStep& step);

/// A batch on a device, for as long as this object lives.
class DeviceBatch {
 public:
  /// Copies a batch to the device.
  /// \param device  where the cache lies
  /// \param batch   valid
  /// \param cache   of the layer; for AttnType::kEncoderOnly, of which nothing is in it, only its scales
  ///                are read
  /// \throws Error  if there is not enough device memory
  DeviceBatch(std::shared_ptr<Device> device, const HostBatch& batch, const DeviceKvCache& cache);

  /// All that a launch needs but its workspace. A backend that has more metadata changes its own copy.
  const PagedAttentionParams& params() const { return params_; }

  /// Copies the results to the host, once all launches are done.
  /// \param output  set to float32 [T, num_query_heads, head_size_v]
  /// \param lse     set to float32 [num_query_heads, T]
  /// \throws Error  if a kernel failed
  void copy_results_to(Tensor& output, Tensor& lse) const;

 private:
  void set_metadata(const HostBatch& batch);
  void set_variant(const AttentionVariant& variant);
  void set_keys_and_values(const HostBatch& batch, const DeviceKvCache& cache);
  void set_results();

  std::shared_ptr<Device> device_;
  DeviceArray query_;             // [T, num_query_heads, head_size]
  DeviceArray query_start_loc_;   // [num_reqs + 1]
  DeviceArray seq_lens_;          // [num_reqs]
  DeviceArray block_table_;       // [num_reqs, max_blocks_per_req]
  DeviceArray own_keys_;          // [T, num_kv_heads, head_size], encoder-only
  DeviceArray own_values_;        // [T, num_kv_heads, head_size_v], encoder-only
  DeviceArray alibi_slopes_;      // [num_query_heads], or empty: the option is not there
  DeviceArray sinks_;             // [num_query_heads], or empty
  DeviceArray mm_prefix_ranges_;  // [num_ranges], or empty
  DeviceArray output_;            // [T, num_query_heads, head_size_v]
  DeviceArray lse_;               // [num_query_heads, T]
  PagedAttentionParams params_;
};

}  // namespace pagelab
