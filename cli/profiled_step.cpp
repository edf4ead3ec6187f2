#include "cli/profiled_step.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "reference/cache/block_table.h"
#include "reference/contract/error.h"

namespace pagelab::cli {
namespace {

using DevicePtr = std::shared_ptr<Device>;

DeviceArray room_for_floats(const DevicePtr& device, std::int64_t count, const char* name) {
  return DeviceArray(device, static_cast<std::size_t>(count) * sizeof(float), name);
}

std::int64_t num_rows_of(const Shape& shape, const CommonAttentionMetadata& batch) {
  return batch.num_actual_tokens() * shape["num_query_heads"];
}

std::int64_t bytes_of_query(const Shape& shape, const CommonAttentionMetadata& batch) {
  return num_rows_of(shape, batch) * shape["head_size"] * shape["element_bytes"];
}

// Of the keys, or of the values.
std::int64_t bytes_of_cache(const Shape& shape, const CommonAttentionMetadata& batch) {
  const std::int64_t num_blocks = static_cast<std::int64_t>(batch.block_table.entries.size());
  return num_blocks * strides_of(shape).block * shape["element_bytes"];
}

}  // namespace

DType dtype_of(const Shape& shape) {
  if (shape["element_bytes"] == 4) return DType::kFloat32;
  if (shape["element_bytes"] == 2) return DType::kBFloat16;
  throw Error("element_bytes is 3, but it must be 4 (float32) or 2 (bfloat16).");
}

DeviceArray small_numbers(const DevicePtr& device, std::int64_t bytes, const char* name) {
  DeviceArray array(device, static_cast<std::size_t>(bytes), name);
  device->fill(array.data(), 0x3c, array.bytes());
  return array;
}

DeviceArray ones(const DevicePtr& device, std::int64_t count, const char* name) {
  return DeviceArray::copy_of(device, std::vector<float>(static_cast<std::size_t>(count), 1.0f),
                              name);
}

KvStrides strides_of(const Shape& shape) {
  KvStrides strides;
  strides.head = shape["head_size"];
  strides.token = shape["num_kv_heads"] * strides.head;
  strides.block = shape["block_size"] * strides.token;
  return strides;
}

CommonAttentionMetadata batch_of(const Shape& shape, std::int64_t query_len) {
  const std::int64_t num_reqs = shape["num_reqs"];
  CommonAttentionMetadata batch;
  batch.block_table =
      BlockTable::unused(num_reqs, blocks_for_tokens(shape["seq_len"], shape["block_size"]));
  for (std::int64_t req_idx = 0; req_idx < num_reqs; ++req_idx) {
    const std::int64_t seq_len = std::max<std::int64_t>(1, shape["seq_len"] - 5 * req_idx);
    batch.seq_lens.push_back(static_cast<std::int32_t>(seq_len));
    const std::int64_t num_queries = std::min(query_len, seq_len);
    batch.query_start_loc.push_back(batch.query_start_loc.back() +
                                    static_cast<std::int32_t>(num_queries));
  }
  std::iota(batch.block_table.entries.rbegin(), batch.block_table.entries.rend(), 0);
  return batch;
}

ProfiledStep::ProfiledStep(const DevicePtr& device,
                           const Shape& shape,
                           const CommonAttentionMetadata& batch,
                           const VisibilityRule& visibility)
    : query_(small_numbers(device, bytes_of_query(shape, batch), "query")),
      key_cache_(small_numbers(device, bytes_of_cache(shape, batch), "key_cache")),
      value_cache_(small_numbers(device, bytes_of_cache(shape, batch), "value_cache")),
      query_start_loc_(DeviceArray::copy_of(device, batch.query_start_loc, "query_start_loc")),
      seq_lens_(DeviceArray::copy_of(device, batch.seq_lens, "seq_lens")),
      block_table_(DeviceArray::copy_of(device, batch.block_table.entries, "block_table")),
      scales_(ones(device, shape["num_kv_heads"], "scales")),
      output_(room_for_floats(device, num_rows_of(shape, batch) * shape["head_size"], "output")),
      lse_(room_for_floats(device, num_rows_of(shape, batch), "lse")) {
  if (shape["num_query_heads"] % shape["num_kv_heads"] != 0) {
    throw Error("num_query_heads is " + std::to_string(shape["num_query_heads"]) +
                ", but it must be a multiple of num_kv_heads, which is " +
                std::to_string(shape["num_kv_heads"]) + ".");
  }
  params_.query = query_.data();
  params_.num_tokens = batch.num_actual_tokens();
  params_.num_query_heads = shape["num_query_heads"];
  params_.num_kv_heads = shape["num_kv_heads"];
  params_.head_size = params_.head_size_v = shape["head_size"];
  params_.num_reqs = batch.num_reqs();
  params_.query_start_loc = query_start_loc_.as<std::int32_t>();
  params_.seq_lens = seq_lens_.as<std::int32_t>();
  params_.block_table = block_table_.as<std::int32_t>();
  params_.max_blocks_per_req = batch.block_table.max_blocks_per_req;
  params_.key_cache = key_cache_.data();
  params_.key_strides = strides_of(shape);
  params_.value_cache = value_cache_.data();
  params_.value_strides = strides_of(shape);
  params_.block_size = shape["block_size"];
  params_.k_scales = params_.v_scales = scales_.as<float>();
  params_.scale = 0.125f;
  params_.visibility = visibility;
  params_.output = output_.as<float>();
  params_.lse = lse_.as<float>();
  params_.max_seq_len = shape["seq_len"];
}

}  // namespace pagelab::cli
