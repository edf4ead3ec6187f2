#include "gpu/backends/device_batch.h"

#include <numeric>

namespace pagelab {
namespace {

// Encoder-only attention reads this step's keys as if they were a cache with blocks of one token:
// position j of a request lies in "block" query_start_loc[r] + j.
BlockTable table_of_own_tokens(const CommonAttentionMetadata& metadata) {
  BlockTable table = BlockTable::unused(metadata.num_reqs(), metadata.max_query_len());
  for (std::int64_t req_idx = 0; req_idx < metadata.num_reqs(); ++req_idx) {
    const std::span<std::int32_t> row = table.row(req_idx);
    const std::int32_t first_token = metadata.query_start_loc[req_idx];
    std::iota(row.begin(), row.begin() + metadata.query_len(req_idx), first_token);
  }
  return table;
}

}  // namespace

DeviceBatch::DeviceBatch(std::shared_ptr<Device> device,
                         const HostBatch& batch,
                         const DeviceKvCache& cache)
    : device_(std::move(device)) {
  query_ = DeviceArray::copy_of(device_, batch.query, "query");
  params_.query = query_.data();
  params_.query_dtype = batch.query.dtype();
  params_.num_tokens = batch.query.shape()[0];
  params_.num_query_heads = batch.query.shape()[1];
  params_.num_kv_heads = cache.spec().num_kv_heads;
  params_.head_size = cache.spec().head_size;
  params_.head_size_v = cache.spec().head_size_v;
  set_metadata(batch);
  set_variant(batch.variant);
  set_cache(cache);
  if (batch.variant.attn_type == AttnType::kEncoderOnly) set_own_tokens(batch);
  set_results();
}

void DeviceBatch::set_metadata(const HostBatch& batch) {
  const CommonAttentionMetadata& metadata = batch.metadata;
  const bool reads_own_tokens = batch.variant.attn_type == AttnType::kEncoderOnly;
  const BlockTable table = reads_own_tokens ? table_of_own_tokens(metadata) : metadata.block_table;
  query_start_loc_ = DeviceArray::copy_of(device_, metadata.query_start_loc, "query_start_loc");
  seq_lens_ = DeviceArray::copy_of(device_, metadata.seq_lens, "seq_lens");
  block_table_ = DeviceArray::copy_of(device_, table.entries, "block_table");
  params_.num_reqs = metadata.num_reqs();
  params_.query_start_loc = query_start_loc_.as<std::int32_t>();
  params_.seq_lens = seq_lens_.as<std::int32_t>();
  params_.max_seq_len = metadata.max_seq_len();
  params_.block_table = block_table_.as<std::int32_t>();
  params_.max_blocks_per_req = table.max_blocks_per_req;
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

void DeviceBatch::set_cache(const DeviceKvCache& cache) {
  params_.cache_dtype = cache.spec().dtype;
  params_.key_cache = cache.keys();
  params_.key_strides = cache.key_strides();
  params_.value_cache = cache.values();
  params_.value_strides = cache.value_strides();
  params_.block_size = cache.spec().block_size;
  params_.k_scales = cache.k_scales();
  params_.v_scales = cache.v_scales();
}

void DeviceBatch::set_own_tokens(const HostBatch& batch) {
  own_keys_ = DeviceArray::copy_of(device_, batch.key, "key");
  own_values_ = DeviceArray::copy_of(device_, batch.value, "value");
  const std::int64_t num_kv_heads = params_.num_kv_heads;
  params_.cache_dtype = batch.key.dtype();
  params_.key_cache = own_keys_.data();
  params_.key_strides = {.block = num_kv_heads * params_.head_size, .head = params_.head_size};
  params_.value_cache = own_values_.data();
  params_.value_strides = {.block = num_kv_heads * params_.head_size_v,
                           .head = params_.head_size_v};
  params_.block_size = 1;
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
