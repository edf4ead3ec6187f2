// cache_write, paged_decode, paged_prefill, cascade, unified and flex: launches for `pagelab profile`.

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "cli/profiled_kernels.h"
#include "cli/profiled_step.h"
#include "gpu/backends/flex_block_mask.h"
#include "gpu/backends/kernels_of.h"
#include "gpu/runtime/device_array.h"
#include "reference/cache/block_table.h"

namespace pagelab::cli {
namespace {

using DevicePtr = std::shared_ptr<Device>;

void launch_cache_write(const DevicePtr& device,
                        const Shape& shape,
                        KernelTable<CacheWriteParams> KernelSet::*table) {
  const DType dtype = dtype_of(shape);
  const std::int64_t num_tokens = shape["num_tokens"];
  const std::int64_t bytes_per_token =
      shape["num_kv_heads"] * shape["head_size"] * shape["element_bytes"];
  const std::int64_t num_blocks = blocks_for_tokens(num_tokens, shape["block_size"]);
  const DeviceArray rows = small_numbers(device, num_tokens * bytes_per_token, "rows");
  const DeviceArray cache =
      small_numbers(device, num_blocks * shape["block_size"] * bytes_per_token, "cache");
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

void launch_attention(const DevicePtr& device,
                      const Shape& shape,
                      std::int64_t query_len,
                      const TableRung<PagedAttentionParams>& rung,
                      const VisibilityRule& visibility = {}) {
  const ProfiledStep step(device, shape, batch_of(shape, query_len), visibility);
  PagedAttentionParams params = step.params();
  if (rung.workspace_floats != nullptr) params.workspace_floats = rung.workspace_floats(params);
  const DeviceArray workspace(
      device, static_cast<std::size_t>(params.workspace_floats) * sizeof(float), "workspace");
  params.workspace = workspace.as<float>();
  rung.launchers.at(dtype_of(shape), dtype_of(shape))(params);
  device->synchronize();
}

// Causal, so that no other modifier takes part.
void launch_flex(const DevicePtr& device, const Shape& shape) {
  const CommonAttentionMetadata batch = batch_of(shape, shape["query_len"]);
  const ProfiledStep step(device, shape, batch, {});
  FlexAttentionParams attention;
  attention.step = step.params();
  attention.num_blocks = static_cast<std::int64_t>(batch.block_table.entries.size());
  const BlockMask mask = build_block_mask(batch, batch.num_actual_tokens(), 1, shape["block_size"],
                                          attention.num_blocks, VariantMask{});
  const DeviceArray inverse = DeviceArray::copy_of(
      device, physical_to_logical(batch, shape["block_size"], attention.num_blocks),
      "physical_to_logical");
  const DeviceArray group_start = DeviceArray::copy_of(device, mask.group_start, "group_start");
  const DeviceArray kv_num_blocks =
      DeviceArray::copy_of(device, mask.kv_num_blocks, "kv_num_blocks");
  const DeviceArray kv_indices = DeviceArray::copy_of(device, mask.kv_indices, "kv_indices");
  attention.physical_to_logical = inverse.as<std::int32_t>();
  attention.group_start = group_start.as<std::int32_t>();
  attention.kv_num_blocks = kv_num_blocks.as<std::int32_t>();
  attention.kv_indices = kv_indices.as<std::int32_t>();
  attention.num_groups = mask.num_groups();
  attention.max_blocks_per_group = mask.max_blocks_per_group;
  const KernelSet set = kernels_of(*device);
  set.flex.launchers.at(dtype_of(shape), dtype_of(shape))(attention);
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
  kernels.push_back({named.flex.name, prefill, launch_flex});
}

}  // namespace pagelab::cli
