#include "gpu/backends/device_batch.h"

#include "reference/contract/own_tokens.h"

namespace pagelab {
namespace {

bool reads_own_tokens(const HostBatch& batch) {
  return batch.variant.attn_type == AttnType::kEncoderOnly;
}

}  // namespace

PagedAttentionParams launch_sizes(const HostBatch& batch,
                                  const KvCacheSpec& spec,
                                  const KvStrides& key_strides,
                                  const KvStrides& value_strides) {
  PagedAttentionParams params;
  params.query_dtype = batch.query.dtype();
  params.num_tokens = batch.query.shape()[0];
  params.num_query_heads = batch.query.shape()[1];
  params.num_kv_heads = spec.num_kv_heads;
  params.head_size = spec.head_size;
  params.head_size_v = spec.head_size_v;
  params.num_reqs = batch.metadata.num_reqs();
  params.max_seq_len = batch.metadata.max_seq_len();
  if (reads_own_tokens(batch)) {
    params.cache_dtype = batch.key.dtype();
    params.key_strides = {.block = spec.num_kv_heads * spec.head_size, .head = spec.head_size};
    params.value_strides = {.block = spec.num_kv_heads * spec.head_size_v,
                            .head = spec.head_size_v};
    params.block_size = 1;
    params.max_blocks_per_req = batch.metadata.max_query_len();
  } else {
    params.cache_dtype = spec.dtype;
    params.key_strides = key_strides;
    params.value_strides = value_strides;
    params.block_size = spec.block_size;
    params.max_blocks_per_req = batch.metadata.block_table.max_blocks_per_req;
  }
  return params;
}

PagedAttentionParams launch_sizes(const AttentionStep& step) {
  const HostBatch batch{step.query, step.key, step.value, step.metadata, step.variant};
  return launch_sizes(batch, step.cache.spec(), step.cache.key_strides(),
                      step.cache.value_strides());
}

DeviceBatch::DeviceBatch(std::shared_ptr<Device> device,
                         const HostBatch& batch,
                         const DeviceKvCache& cache)
    : device_(std::move(device)),
      params_(launch_sizes(batch, cache.spec(), cache.key_strides(), cache.value_strides())) {
  query_ = DeviceArray::copy_of(device_, batch.query, "query");
  params_.query = query_.data();
  set_metadata(batch);
  set_variant(batch.variant);
  set_keys_and_values(batch, cache);
  set_results();
}

void DeviceBatch::set_metadata(const HostBatch& batch) {
  const CommonAttentionMetadata& metadata = batch.metadata;
  const BlockTable table =
      reads_own_tokens(batch) ? table_of_own_tokens(metadata) : metadata.block_table;
  query_start_loc_ = DeviceArray::copy_of(device_, metadata.query_start_loc, "query_start_loc");
  seq_lens_ = DeviceArray::copy_of(device_, metadata.seq_lens, "seq_lens");
  block_table_ = DeviceArray::copy_of(device_, table.entries, "block_table");
  params_.query_start_loc = query_start_loc_.as<std::int32_t>();
  params_.seq_lens = seq_lens_.as<std::int32_t>();
  params_.block_table = block_table_.as<std::int32_t>();
}

void DeviceBatch::set_variant(const AttentionVariant& variant) {
  alibi_slopes_ = DeviceArray::copy_of(device_, variant.alibi_slopes, "alibi_slopes");
  sinks_ = DeviceArray::copy_of(device_, variant.sinks, "sinks");
  mm_prefix_ranges_ = DeviceArray::copy_of(device_, variant.mm_prefix_ranges, "mm_prefix_ranges");
  params_.scale = static_cast<float>(variant.scale);
  params_.visibility = variant.visibility;
  params_.has_softcap = variant.logit_softcap.has_value();
  params_.logit_softcap = static_cast<float>(variant.logit_softcap.value_or(0.0));
  params_.alibi_slopes = alibi_slopes_.as<float>();
  params_.sinks = sinks_.as<float>();
  params_.mm_prefix_ranges = mm_prefix_ranges_.as<MmPrefixRange>();
  params_.num_mm_prefix_ranges = static_cast<std::int64_t>(variant.mm_prefix_ranges.size());
}

void DeviceBatch::set_keys_and_values(const HostBatch& batch, const DeviceKvCache& cache) {
  params_.k_scales = cache.k_scales();
  params_.v_scales = cache.v_scales();
  if (!reads_own_tokens(batch)) {
    params_.key_cache = cache.keys();
    params_.value_cache = cache.values();
    return;
  }
  own_keys_ = DeviceArray::copy_of(device_, batch.key, "key");
  own_values_ = DeviceArray::copy_of(device_, batch.value, "value");
  params_.key_cache = own_keys_.data();
  params_.value_cache = own_values_.data();
}

void DeviceBatch::set_results() {
  const std::int64_t num_rows = params_.num_tokens * params_.num_query_heads;
  const std::size_t bytes_of_lse = static_cast<std::size_t>(num_rows) * sizeof(float);
  const std::size_t bytes_of_output = bytes_of_lse * static_cast<std::size_t>(params_.head_size_v);
  output_ = DeviceArray(device_, bytes_of_output, "output");
  lse_ = DeviceArray(device_, bytes_of_lse, "lse");
  params_.output = output_.as<float>();
  params_.lse = lse_.as<float>();
}

void DeviceBatch::copy_results_to(Tensor& output, Tensor& lse) const {
  output =
      Tensor(DType::kFloat32, {params_.num_tokens, params_.num_query_heads, params_.head_size_v});
  lse = Tensor(DType::kFloat32, {params_.num_query_heads, params_.num_tokens});
  output_.copy_to(output.bytes());
  lse_.copy_to(lse.bytes());
}

}  // namespace pagelab
