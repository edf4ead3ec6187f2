#include "gpu/backends/device_kv_cache.h"

#include "reference/contract/validate.h"

namespace pagelab {

DeviceKvCache::DeviceKvCache(std::shared_ptr<Device> device, const KvCache& cache)
    : spec_(cache.spec()),
      key_strides_(cache.key_strides()),
      value_strides_(cache.value_strides()),
      host_k_scale_(cache.k_scale),
      host_v_scale_(cache.v_scale) {
  validate(cache);
  const bool lie_apart = cache.arrays().size() == 2;
  for (const Tensor& array : cache.arrays()) {
    const bool holds_keys = arrays_.empty();
    const char* name = !lie_apart ? "kv_cache" : holds_keys ? "key_cache" : "value_cache";
    arrays_.push_back(DeviceArray::copy_of(device, array, name));
  }
  first_value_bytes_ = static_cast<std::size_t>(cache.value_data() - cache.arrays().back().bytes());

  std::vector<float> k_scales;
  std::vector<float> v_scales;
  for (std::int64_t kv_head_idx = 0; kv_head_idx < spec_.num_kv_heads; ++kv_head_idx) {
    k_scales.push_back(cache.k_scale_of(kv_head_idx));
    v_scales.push_back(cache.v_scale_of(kv_head_idx));
  }
  k_scales_ = DeviceArray::copy_of(device, k_scales, "k_scales");
  v_scales_ = DeviceArray::copy_of(device, v_scales, "v_scales");
}

void* DeviceKvCache::values() const { return arrays_.back().as<std::byte>() + first_value_bytes_; }

KvCache DeviceKvCache::copy_to_host() const {
  KvCache cache(spec_);
  cache.k_scale = host_k_scale_;
  cache.v_scale = host_v_scale_;
  for (std::size_t index = 0; index < arrays_.size(); ++index) {
    arrays_[index].copy_to(cache.arrays()[index].bytes());
  }
  return cache;
}

}  // namespace pagelab
