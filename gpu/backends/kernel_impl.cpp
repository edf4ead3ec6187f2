#include "gpu/backends/kernel_impl.h"

#include "gpu/backends/kernels_of.h"
#include "gpu/backends/rung_choice.h"
#include "gpu/runtime/device_array.h"
#include "reference/cache/cache_write.h"
#include "reference/contract/validate.h"

namespace pagelab {

KernelImpl::KernelImpl(std::shared_ptr<Device> device, const KvCache& initial_cache)
    : device_(std::move(device)), kernels_(kernels_of(*device_)), cache_(device_, initial_cache) {}

void KernelImpl::do_kv_cache_update(const Tensor& key,
                                    const Tensor& value,
                                    const std::vector<std::int64_t>& slot_mapping) {
  const KvCacheSpec& spec = cache_.spec();
  validate_cache_write(key, value, slot_mapping, spec);
  const DeviceArray device_key = DeviceArray::copy_of(device_, key, "key");
  const DeviceArray device_value = DeviceArray::copy_of(device_, value, "value");
  const DeviceArray device_slots = DeviceArray::copy_of(device_, slot_mapping, "slot_mapping");

  CacheWriteParams params;
  params.block_size = spec.block_size;
  params.num_tokens = key.shape()[0];
  params.num_kv_heads = spec.num_kv_heads;
  params.slot_mapping = device_slots.as<std::int64_t>();
  const auto cache_write = kernels_.cache_write_naive.at(key.dtype(), spec.dtype);

  params.rows = device_key.data();
  params.cache = cache_.keys();
  params.cache_strides = cache_.key_strides();
  params.head_size = spec.head_size;
  params.scales = cache_.k_scales();
  cache_write(params);

  params.rows = device_value.data();
  params.cache = cache_.values();
  params.cache_strides = cache_.value_strides();
  params.head_size = spec.head_size_v;
  params.scales = cache_.v_scales();
  cache_write(params);
  device_->synchronize();
}

void KernelImpl::forward(const Tensor& query,
                         const Tensor& key,
                         const Tensor& value,
                         const CommonAttentionMetadata& metadata,
                         const AttentionVariant& variant,
                         Tensor& output,
                         Tensor& lse) {
  validate(query, key, value, cache_.spec());
  validate(metadata, variant.attn_type, query.shape()[0], cache_.spec(), StepUse::kAttend);
  validate(variant, query.shape()[1], metadata);
  attend(HostBatch{query, key, value, metadata, variant}, output, lse);
}

void KernelImpl::forward_cascade(const Tensor& query,
                                 const Tensor& key,
                                 const Tensor& value,
                                 const CommonAttentionMetadata& metadata,
                                 const AttentionVariant& variant,
                                 std::int64_t num_common_prefix_blocks,
                                 Tensor& output,
                                 Tensor& lse) {
  validate(query, key, value, cache_.spec());
  validate(metadata, variant.attn_type, query.shape()[0], cache_.spec(), StepUse::kAttend);
  validate(variant, query.shape()[1], metadata);
  const CascadeParts parts =
      split_cascade(metadata, variant, cache_.spec().block_size, num_common_prefix_blocks);
  attend_in_parts(HostBatch{query, key, value, metadata, variant}, parts, output, lse);
}

void KernelImpl::attend_in_parts(const HostBatch&, const CascadeParts&, Tensor&, Tensor&) {
  refuse_cascade();
}

void launch_rung(const std::shared_ptr<Device>& device,
                 const TableRung<PagedAttentionParams>& rung,
                 PagedAttentionParams params) {
  params.workspace_floats = floats_of(rung, params);
  const DeviceArray workspace(
      device, static_cast<std::size_t>(params.workspace_floats) * sizeof(float), "workspace");
  params.workspace = workspace.as<float>();
  rung.launchers.at(params.query_dtype, params.cache_dtype)(params);
}

}  // namespace pagelab
