#include "gpu/backends/persistent_batch.h"

#include "reference/contract/refuse.h"
#include "reference/contract/validate.h"

namespace pagelab {
namespace {

PersistentBatchSizes checked(const PersistentBatchSizes& sizes) {
  const struct {
    const char* field;
    std::int64_t value;
  } numbers[] = {{"max_num_tokens", sizes.max_num_tokens},
                 {"max_num_reqs", sizes.max_num_reqs},
                 {"max_blocks_per_req", sizes.max_blocks_per_req},
                 {"num_query_heads", sizes.num_query_heads}};
  for (const auto& number : numbers) {
    if (number.value < 1) refuse("{} is {}; it must be at least 1.", number.field, number.value);
  }
  return sizes;
}

DeviceArray array_of(const std::shared_ptr<Device>& device,
                     std::int64_t count,
                     std::int64_t bytes_each,
                     const char* name) {
  return DeviceArray(device, static_cast<std::size_t>(count * bytes_each), name);
}

void require_fits(const char* what, std::int64_t count, std::int64_t most) {
  if (count > most) {
    refuse("the step has {} {}, but the persistent arrays have room for {}.", count, what, most);
  }
}

}  // namespace

LaunchShape launch_shape_of(const CommonAttentionMetadata& metadata) {
  return {static_cast<std::int64_t>(metadata.slot_mapping.size()), metadata.num_reqs(),
          metadata.max_query_len(), metadata.max_seq_len()};
}

std::string to_string(const LaunchShape& shape) {
  return fmt::format("{} tokens, {} requests, queries up to {}, sequences up to {}",
                     shape.num_tokens, shape.num_reqs, shape.max_query_len, shape.max_seq_len);
}

PersistentBatch::PersistentBatch(std::shared_ptr<Device> device, const PersistentBatchSizes& sizes)
    : sizes_(checked(sizes)), device_(std::move(device)) {
  const std::int64_t element = bytes_of(sizes.query_dtype);
  const std::int64_t tokens = sizes.max_num_tokens;
  const KvCacheSpec& cache = sizes.cache;
  query_ = array_of(device_, tokens * sizes.num_query_heads * cache.head_size, element, "query");
  key_ = array_of(device_, tokens * cache.num_kv_heads * cache.head_size, element, "key");
  value_ = array_of(device_, tokens * cache.num_kv_heads * cache.head_size_v, element, "value");
  query_start_loc_ =
      array_of(device_, sizes.max_num_reqs + 1, sizeof(std::int32_t), "query_start_loc");
  seq_lens_ = array_of(device_, sizes.max_num_reqs, sizeof(std::int32_t), "seq_lens");
  block_table_ = array_of(device_, sizes.max_num_reqs * sizes.max_blocks_per_req,
                          sizeof(std::int32_t), "block_table");
  slot_mapping_ = array_of(device_, tokens, sizeof(std::int64_t), "slot_mapping");
}

void PersistentBatch::update(const CommonAttentionMetadata& padded) {
  const auto num_tokens = static_cast<std::int64_t>(padded.slot_mapping.size());
  require_fits("tokens", num_tokens, sizes_.max_num_tokens);
  require_fits("requests", padded.num_reqs(), sizes_.max_num_reqs);
  // The recorded launches step from row to row by the number of columns.
  if (padded.block_table.max_blocks_per_req != sizes_.max_blocks_per_req) {
    refuse("the block table has {} columns, but recorded launches read rows of {}.",
           padded.block_table.max_blocks_per_req, sizes_.max_blocks_per_req);
  }
  validate(padded, AttnType::kDecoder, num_tokens, sizes_.cache, StepUse::kStoreAndAttend);
  query_start_loc_.overwrite(padded.query_start_loc);
  seq_lens_.overwrite(padded.seq_lens);
  block_table_.overwrite(padded.block_table.entries);
  slot_mapping_.overwrite(padded.slot_mapping);
}

void PersistentBatch::update_inputs(const Tensor& query, const Tensor& key, const Tensor& value) {
  validate(query, key, value, sizes_.cache);
  require_fits("tokens", query.shape()[0], sizes_.max_num_tokens);
  if (query.dtype() != sizes_.query_dtype || query.shape()[1] != sizes_.num_query_heads) {
    refuse("the query is {} with {} heads, but the persistent arrays are for {} with {}.",
           to_string(query.dtype()), query.shape()[1], to_string(sizes_.query_dtype),
           sizes_.num_query_heads);
  }
  query_.overwrite(query);
  key_.overwrite(key);
  value_.overwrite(value);
}

PagedAttentionParams PersistentBatch::attention(const LaunchShape& shape,
                                                const DeviceKvCache& cache) const {
  PagedAttentionParams params;
  params.query = query_.data();
  params.query_dtype = sizes_.query_dtype;
  params.cache_dtype = cache.spec().dtype;
  params.num_tokens = shape.num_tokens;
  params.num_query_heads = sizes_.num_query_heads;
  params.num_kv_heads = cache.spec().num_kv_heads;
  params.head_size = cache.spec().head_size;
  params.head_size_v = cache.spec().head_size_v;
  params.num_reqs = shape.num_reqs;
  params.query_start_loc = query_start_loc_.as<std::int32_t>();
  params.seq_lens = seq_lens_.as<std::int32_t>();
  params.block_table = block_table_.as<std::int32_t>();
  params.max_blocks_per_req = sizes_.max_blocks_per_req;
  params.key_cache = cache.keys();
  params.key_strides = cache.key_strides();
  params.value_cache = cache.values();
  params.value_strides = cache.value_strides();
  params.block_size = cache.spec().block_size;
  params.k_scales = cache.k_scales();
  params.v_scales = cache.v_scales();
  params.scale = sizes_.scale;
  params.max_seq_len = shape.max_seq_len;
  return params;
}

CacheWriteParams PersistentBatch::write(const LaunchShape& shape,
                                        const DeviceKvCache& cache) const {
  CacheWriteParams params;
  params.block_size = cache.spec().block_size;
  params.num_tokens = shape.num_tokens;
  params.num_kv_heads = cache.spec().num_kv_heads;
  params.slot_mapping = slot_mapping_.as<std::int64_t>();
  return params;
}

CacheWriteParams PersistentBatch::key_write(const LaunchShape& shape,
                                            const DeviceKvCache& cache) const {
  CacheWriteParams params = write(shape, cache);
  params.rows = key_.data();
  params.cache = cache.keys();
  params.cache_strides = cache.key_strides();
  params.head_size = cache.spec().head_size;
  params.scales = cache.k_scales();
  return params;
}

CacheWriteParams PersistentBatch::value_write(const LaunchShape& shape,
                                              const DeviceKvCache& cache) const {
  CacheWriteParams params = write(shape, cache);
  params.rows = value_.data();
  params.cache = cache.values();
  params.cache_strides = cache.value_strides();
  params.head_size = cache.spec().head_size_v;
  params.scales = cache.v_scales();
  return params;
}

}  // namespace pagelab
