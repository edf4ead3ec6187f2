/// \file
/// The arrays of an attention step for `pagelab profile`: a batch of requests over a cache, filled with
/// small numbers, from a shape.
#pragma once

#include <cstdint>
#include <memory>

#include "cli/profiled_kernels.h"
#include "gpu/kernels/paged_attention/params.h"
#include "gpu/runtime/device_array.h"
#include "reference/contract/attention_step.h"

namespace pagelab::cli {

/// The format that element_bytes of a shape stands for. \throws Error if it is 3
DType dtype_of(const Shape& shape);

/// An array whose bytes are 0x3c: small ordinary numbers in float32 and bfloat16.
DeviceArray small_numbers(const std::shared_ptr<Device>& device,
                          std::int64_t bytes,
                          const char* name);
/// An array of `count` ones, float32.
DeviceArray ones(const std::shared_ptr<Device>& device, std::int64_t count, const char* name);

/// Elements between neighbours of a cache of a shape.
KvStrides strides_of(const Shape& shape);

/// The last queries of each request, one or more. Each request has 5 keys fewer than the one before it, and
/// at least one; it has no more queries than keys. Blocks lie in reverse: neighbours in the sequence are none
/// in the cache.
/// \param shape      has num_reqs, seq_len and block_size
/// \param query_len  queries of a request
CommonAttentionMetadata batch_of(const Shape& shape, std::int64_t query_len);

/// A batch on a device. Arrays live as long as it does.
class ProfiledStep {
 public:
  /// \param shape       has the fields of paged_decode or paged_prefill
  /// \param batch       batch_of the shape
  /// \param visibility  which keys a query sees
  /// \throws Error      if num_query_heads is no multiple of num_kv_heads
  ProfiledStep(const std::shared_ptr<Device>& device,
               const Shape& shape,
               const CommonAttentionMetadata& batch,
               const VisibilityRule& visibility);

  const PagedAttentionParams& params() const {
    return params_;
  }  ///< for a launch without workspace

 private:
  DeviceArray query_;
  DeviceArray key_cache_;
  DeviceArray value_cache_;
  DeviceArray query_start_loc_;
  DeviceArray seq_lens_;
  DeviceArray block_table_;
  DeviceArray scales_;
  DeviceArray output_;
  DeviceArray lse_;
  PagedAttentionParams params_;
};

}  // namespace pagelab::cli
