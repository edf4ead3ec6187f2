/// \file
/// A layer's KV cache in device memory, laid out as KvCache lays it out.
#pragma once

#include <memory>
#include <vector>

#include "gpu/runtime/device_array.h"
#include "reference/cache/kv_cache.h"

namespace pagelab {

/// The arrays of a KvCache, on a device. Addresses are device addresses.
class DeviceKvCache {
 public:
  /// A copy of a host cache, contents and all.
  /// \throws Error  if its scales are wrong, or there is not enough device memory
  DeviceKvCache(std::shared_ptr<Device> device, const KvCache& cache);

  const KvCacheSpec& spec() const { return spec_; }                ///< sizes and type
  KvStrides key_strides() const { return key_strides_; }           ///< distances between keys
  KvStrides value_strides() const { return value_strides_; }       ///< distances between values
  void* keys() const { return arrays_.front().data(); }            ///< first key
  void* values() const;                                            ///< first value
  const float* k_scales() const { return k_scales_.as<float>(); }  ///< [num_kv_heads]
  const float* v_scales() const { return v_scales_.as<float>(); }  ///< [num_kv_heads]

  /// The cache as it is now.
  KvCache copy_to_host() const;

 private:
  KvCacheSpec spec_;
  KvStrides key_strides_;
  KvStrides value_strides_;
  std::size_t first_value_bytes_;    // from the start of the last array to the first value
  std::vector<float> host_k_scale_;  // as the host cache has them: one, or one a head
  std::vector<float> host_v_scale_;
  std::vector<DeviceArray> arrays_;  // one, or two (keys, values) when they lie apart
  DeviceArray k_scales_;             // [num_kv_heads]
  DeviceArray v_scales_;             // [num_kv_heads]
};

}  // namespace pagelab
