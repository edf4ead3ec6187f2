// cache_write, paged_decode, paged_prefill, cascade and unified: arrays and launches for `pagelab profile`.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "cli/profiled_kernels.h"
#include "gpu/backends/kernels_of.h"
#include "gpu/runtime/device_array.h"
#include "reference/cache/block_table.h"
#include "reference/contract/error.h"

namespace pagelab::cli {
namespace {

using DevicePtr = std::shared_ptr<Device>;

DType dtype_of(const Shape& shape) {
  if (shape["element_bytes"] == 4) return DType::kFloat32;
  if (shape["element_bytes"] == 2) return DType::kBFloat16;
  throw Error("element_bytes is 3, but it must be 4 (float32) or 2 (bfloat16).");
}

// Bytes 0x3c: small ordinary numbers in both formats.
DeviceArray numbers(const DevicePtr& device, std::int64_t bytes, const char* name) {
  DeviceArray array(device, static_cast<std::size_t>(bytes), name);
  device->fill(array.data(), 0x3c, array.bytes());
  return array;
}

DeviceArray room_for_floats(const DevicePtr& device, std::int64_t count, const char* name) {
  return DeviceArray(device, static_cast<std::size_t>(count) * sizeof(float), name);
}

KvStrides strides_of(const Shape& shape) {
  KvStrides strides;
  strides.head = shape["head_size"];
  strides.token = shape["num_kv_heads"] * strides.head;
  strides.block = shape["block_size"] * strides.token;
  return strides;
}

DeviceArray ones(const DevicePtr& device, std::int64_t count, const char* name) {
  return DeviceArray::copy_of(device, std::vector<float>(static_cast<std::size_t>(count), 1.0f),
                              name);
}

void launch_cache_write(const DevicePtr& device,
                        const Shape& shape,
                        KernelTable<CacheWriteParams> KernelSet::*table) {
  const DType dtype = dtype_of(shape);
  const std::int64_t num_tokens = shape["num_tokens"];
  const std::int64_t bytes_per_token =
      shape["num_kv_heads"] * shape["head_size"] * shape["element_bytes"];
  const std::int64_t num_blocks = blocks_for_tokens(num_tokens, shape["block_size"]);
  const DeviceArray rows = numbers(device, num_tokens * bytes_per_token, "rows");
  const DeviceArray cache =
      numbers(device, num_blocks * shape["block_size"] * bytes_per_token, "cache");
  std::vector<std::int64_t> slots(static_cast<std::size_t>(num_tokens));
  std::iota(slots.rbegin(), slots.rend(), std::int64_t{0});  // the last token in the first slot
  const DeviceArray slot_mapping = DeviceArray::copy_of(device, slots, "slot_mapping");
  const DeviceArray scales = ones(device, shape["num_kv_heads"], "scales");
  CacheWriteParams params;
  params.rows = rows.data();
  params.cache = cache.data();
  params.cache_strides = strides_of(shape);
  params.block_size = shape["block_size"];
  params.num_tokens = num_tokens;
  params.num_kv_heads = shape["num_kv_heads"];
  params.head_size = shape["head_size"];
  params.slot_mapping = slot_mapping.as<std::int64_t>();
  params.scales = scales.as<float>();
  const KernelSet set = kernels_of(*device);
  (set.*table).at(dtype, dtype)(params);
  device->synchronize();
}

// The last queries of each request, one or more. Each request has 5 keys fewer than the one before it, and at
// least one; it has no more queries than keys.
struct Batch {
  Batch(const Shape& shape, std::int64_t query_len) {
    blocks_per_req = blocks_for_tokens(shape["seq_len"], shape["block_size"]);
    const std::int64_t num_reqs = shape["num_reqs"];
    query_start_loc.push_back(0);
    for (std::int64_t req_idx = 0; req_idx < num_reqs; ++req_idx) {
      const std::int64_t seq_len = std::max<std::int64_t>(1, shape["seq_len"] - 5 * req_idx);
      seq_lens.push_back(static_cast<std::int32_t>(seq_len));
      const std::int64_t num_queries = std::min(query_len, seq_len);
      query_start_loc.push_back(query_start_loc.back() + static_cast<std::int32_t>(num_queries));
    }
    // Blocks in reverse: neighbours in the sequence are none in the cache.
    block_table.resize(static_cast<std::size_t>(num_reqs * blocks_per_req));
    std::iota(block_table.rbegin(), block_table.rend(), 0);
  }

  std::int64_t blocks_per_req = 0;
  std::vector<std::int32_t> query_start_loc;
  std::vector<std::int32_t> seq_lens;
  std::vector<std::int32_t> block_table;
};

void launch_attention(const DevicePtr& device,
                      const Shape& shape,
                      std::int64_t query_len,
                      const TableRung<PagedAttentionParams>& rung,
                      const VisibilityRule& visibility = {}) {
  const DType dtype = dtype_of(shape);
  const std::int64_t num_query_heads = shape["num_query_heads"];
  const std::int64_t num_kv_heads = shape["num_kv_heads"];
  if (num_query_heads % num_kv_heads != 0) {
    throw Error("num_query_heads is " + std::to_string(num_query_heads) +
                ", but it must be a multiple of num_kv_heads, which is " +
                std::to_string(num_kv_heads) + ".");
  }
  const Batch batch(shape, query_len);
  const std::int64_t num_reqs = shape["num_reqs"];
  const std::int64_t num_tokens = batch.query_start_loc.back();
  const std::int64_t num_rows = num_tokens * num_query_heads;
  const std::int64_t cache_bytes =
      num_reqs * batch.blocks_per_req * strides_of(shape).block * shape["element_bytes"];
  const DeviceArray query =
      numbers(device, num_rows * shape["head_size"] * shape["element_bytes"], "query");
  const DeviceArray key_cache = numbers(device, cache_bytes, "key_cache");
  const DeviceArray value_cache = numbers(device, cache_bytes, "value_cache");
  const DeviceArray query_start_loc =
      DeviceArray::copy_of(device, batch.query_start_loc, "query_start_loc");
  const DeviceArray seq_lens = DeviceArray::copy_of(device, batch.seq_lens, "seq_lens");
  const DeviceArray block_table = DeviceArray::copy_of(device, batch.block_table, "block_table");
  const DeviceArray scales = ones(device, num_kv_heads, "scales");
  const DeviceArray output = room_for_floats(device, num_rows * shape["head_size"], "output");
  const DeviceArray lse = room_for_floats(device, num_rows, "lse");

  PagedAttentionParams params;
  params.query = query.data();
  params.num_tokens = num_tokens;
  params.num_query_heads = num_query_heads;
  params.num_kv_heads = num_kv_heads;
  params.head_size = params.head_size_v = shape["head_size"];
  params.num_reqs = num_reqs;
  params.query_start_loc = query_start_loc.as<std::int32_t>();
  params.seq_lens = seq_lens.as<std::int32_t>();
  params.block_table = block_table.as<std::int32_t>();
  params.max_blocks_per_req = batch.blocks_per_req;
  params.key_cache = key_cache.data();
  params.key_strides = strides_of(shape);
  params.value_cache = value_cache.data();
  params.value_strides = strides_of(shape);
  params.block_size = shape["block_size"];
  params.k_scales = params.v_scales = scales.as<float>();
  params.scale = 0.125f;
  params.visibility = visibility;
  params.output = output.as<float>();
  params.lse = lse.as<float>();
  params.max_seq_len = shape["seq_len"];
  if (rung.workspace_floats != nullptr) params.workspace_floats = rung.workspace_floats(params);
  const DeviceArray workspace = room_for_floats(device, params.workspace_floats, "workspace");
  params.workspace = workspace.as<float>();
  rung.launchers.at(dtype, dtype)(params);
  device->synchronize();
}

}  // namespace

void add_attention_kernels(std::vector<ProfiledKernel>& kernels) {
  const ShapeField num_kv_heads = {"num_kv_heads", 2, 1, 128, "KV heads"};
  const ShapeField head_size = {"head_size", 64, 1, 1024, "elements of a head"};
  const ShapeField block_size = {"block_size", 16, 1, 1024, "tokens of a KV block"};
  const ShapeField element_bytes = {"element_bytes", 4, 2, 4, "4: float32; 2: bfloat16"};
  const Shape write({{"num_tokens", 9, 1, 65536, "new tokens"},
                     num_kv_heads,
                     head_size,
                     block_size,
                     element_bytes});
  // What a rung of tensor cores takes.
  const ShapeField two_bytes = {"element_bytes", 2, 2, 4, "4: float32; 2: bfloat16"};
  const auto takes_float32 = [](const TableRung<PagedAttentionParams>& rung) {
    PagedAttentionParams params;  // of float32 queries and cache
    params.head_size = params.head_size_v = 64;
    return rung.refusal == nullptr || rung.refusal(params).empty();
  };
  const auto attend = [&](const ShapeField& bytes) {
    return Shape({{"num_reqs", 3, 1, 1024, "requests, with one query token each"},
                  {"seq_len", 37, 1, 65536, "keys of the first request; 5 fewer each time"},
                  {"num_query_heads", 4, 1, 128, "a multiple of num_kv_heads"},
                  num_kv_heads,
                  head_size,
                  block_size,
                  bytes});
  };
  const auto add_write = [&](const char* name, KernelTable<CacheWriteParams> KernelSet::*table) {
    kernels.push_back({name, write, [table](const DevicePtr& device, const Shape& shape) {
                         launch_cache_write(device, shape, table);
                       }});
  };
  const auto add_attend = [&](const TableRung<PagedAttentionParams>& rung, std::size_t index) {
    const Shape shape = attend(takes_float32(rung) ? element_bytes : two_bytes);
    kernels.push_back({rung.name, shape, [index](const DevicePtr& device, const Shape& chosen) {
                         const KernelSet set = kernels_of(*device);
                         launch_attention(device, chosen, 1, set.paged_decode[index]);
                       }});
  };
  const Shape prefill({{"num_reqs", 2, 1, 1024, "requests"},
                       {"query_len", 40, 1, 65536, "queries of each request, its last tokens"},
                       {"seq_len", 70, 1, 65536, "keys of the first request; 5 fewer each time"},
                       {"num_query_heads", 4, 1, 128, "a multiple of num_kv_heads"},
                       num_kv_heads,
                       head_size,
                       block_size,
                       two_bytes});
  const auto add_prefill = [&](const char* name, auto ladder, std::size_t index) {
    kernels.push_back({name, prefill, [=](const DevicePtr& device, const Shape& shape) {
                         const KernelSet set = kernels_of(*device);
                         launch_attention(device, shape, shape["query_len"], (set.*ladder)[index]);
                       }});
  };
  const Shape prefix({{"num_reqs", 1, 1, 1, "a prefix is one request"},
                      {"query_len", 12, 1, 65536, "queries of the batch, at most seq_len"},
                      {"seq_len", 600, 1, 65536, "keys of the prefix"},
                      {"num_query_heads", 4, 1, 128, "a multiple of num_kv_heads"},
                      num_kv_heads,
                      head_size,
                      block_size,
                      two_bytes});
  const auto add_prefix = [&](const char* name) {
    kernels.push_back({name, prefix, [](const DevicePtr& device, const Shape& shape) {
                         launch_attention(device, shape, shape["query_len"],
                                          kernels_of(*device).cascade_prefix, {.causal = false});
                       }});
  };
  add_write("cache_write/1_naive", &KernelSet::cache_write_naive);
  const KernelSet named = kernels_of(*simulator_device());
  for (std::size_t index = 0; index < named.paged_decode.size(); ++index) {
    add_attend(named.paged_decode[index], index);
  }
  for (std::size_t index = 0; index < named.paged_prefill.size(); ++index) {
    add_prefill(named.paged_prefill[index].name, &KernelSet::paged_prefill, index);
  }
  add_prefix(named.cascade_prefix.name);
  for (std::size_t index = 0; index < named.unified.size(); ++index) {
    add_prefill(named.unified[index].name, &KernelSet::unified, index);
  }
}

}  // namespace pagelab::cli
