#include "gpu/backends/naive.h"

#include <algorithm>
#include <numeric>

#include "gpu/backends/device_kv_cache.h"
#include "gpu/backends/kernels_of.h"
#include "gpu/kernels/paged_decode/partitions.h"
#include "gpu/runtime/device_array.h"
#include "reference/cache/cache_write.h"
#include "reference/contract/validate.h"

namespace pagelab {
namespace {

// A batch in device memory, in the form that the kernel takes: where each request's queries and
// keys are.
struct DeviceBatch {
  DeviceArray query_start_loc;  // [num_reqs + 1]
  DeviceArray seq_lens;         // [num_reqs]
  DeviceArray block_table;      // [num_reqs, max_blocks_per_req]
};

// A step's options in device memory. Empty arrays stand for options that are not there.
struct DeviceVariant {
  DeviceArray alibi_slopes;      // [num_query_heads]
  DeviceArray sinks;             // [num_query_heads]
  DeviceArray mm_prefix_ranges;  // [num_ranges]
};

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

// A kernel that attends, and how much workspace it needs.
struct AttentionKernel {
  KernelTable<PagedAttentionParams> launchers;
  WorkspaceFloats workspace_floats;  // nullptr: none
};

class NaiveImpl final : public AttentionImpl {
 public:
  NaiveImpl(std::shared_ptr<Device> device,
            const AttentionKernel& paged_attention,
            const KvCache& initial_cache)
      : device_(std::move(device)),
        kernels_(kernels_of(*device_)),
        paged_attention_(paged_attention),
        cache_(device_, initial_cache) {}

  void do_kv_cache_update(const Tensor& key,
                          const Tensor& value,
                          const std::vector<std::int64_t>& slot_mapping) override {
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

  void forward(const Tensor& query,
               const Tensor& key,
               const Tensor& value,
               const CommonAttentionMetadata& metadata,
               const AttentionVariant& variant,
               Tensor& output,
               Tensor& lse) override {
    validate(query, key, value, cache_.spec());
    validate(metadata, variant.attn_type, query.shape()[0], cache_.spec(), StepUse::kAttend);
    validate(variant, query.shape()[1], metadata);
    const bool reads_own_tokens = variant.attn_type == AttnType::kEncoderOnly;
    const BlockTable table =
        reads_own_tokens ? table_of_own_tokens(metadata) : metadata.block_table;
    const DeviceBatch batch = copy_of_batch(metadata, table);
    const DeviceVariant options = copy_of_variant(variant);
    const DeviceArray device_query = DeviceArray::copy_of(device_, query, "query");

    PagedAttentionParams params;
    set_sizes(params, query, metadata);
    params.query = device_query.data();
    params.query_start_loc = batch.query_start_loc.as<std::int32_t>();
    params.seq_lens = batch.seq_lens.as<std::int32_t>();
    params.block_table = batch.block_table.as<std::int32_t>();
    params.max_blocks_per_req = table.max_blocks_per_req;
    set_variant(params, variant, options);

    DeviceArray own_keys;
    DeviceArray own_values;
    if (reads_own_tokens) {
      own_keys = DeviceArray::copy_of(device_, key, "key");
      own_values = DeviceArray::copy_of(device_, value, "value");
      set_own_tokens(params, own_keys, own_values);
    } else {
      set_cache(params);
    }
    const DType key_dtype = reads_own_tokens ? key.dtype() : cache_.spec().dtype;
    launch_and_fetch(params, paged_attention_.launchers.at(query.dtype(), key_dtype), output, lse);
  }

  KvCache kv_cache() const override { return cache_.copy_to_host(); }

 private:
  DeviceBatch copy_of_batch(const CommonAttentionMetadata& metadata,
                            const BlockTable& table) const {
    DeviceBatch batch;
    batch.query_start_loc =
        DeviceArray::copy_of(device_, metadata.query_start_loc, "query_start_loc");
    batch.seq_lens = DeviceArray::copy_of(device_, metadata.seq_lens, "seq_lens");
    batch.block_table = DeviceArray::copy_of(device_, table.entries, "block_table");
    return batch;
  }

  DeviceVariant copy_of_variant(const AttentionVariant& variant) const {
    DeviceVariant options;
    options.alibi_slopes = DeviceArray::copy_of(device_, variant.alibi_slopes, "alibi_slopes");
    options.sinks = DeviceArray::copy_of(device_, variant.sinks, "sinks");
    options.mm_prefix_ranges =
        DeviceArray::copy_of(device_, variant.mm_prefix_ranges, "mm_prefix_ranges");
    return options;
  }

  void set_sizes(PagedAttentionParams& params,
                 const Tensor& query,
                 const CommonAttentionMetadata& metadata) const {
    params.num_tokens = query.shape()[0];
    params.num_query_heads = query.shape()[1];
    params.num_kv_heads = cache_.spec().num_kv_heads;
    params.head_size = cache_.spec().head_size;
    params.head_size_v = cache_.spec().head_size_v;
    params.num_reqs = metadata.num_reqs();
    for (const std::int32_t seq_len : metadata.seq_lens) {
      params.max_seq_len = std::max<std::int64_t>(params.max_seq_len, seq_len);
    }
  }

  static void set_variant(PagedAttentionParams& params,
                          const AttentionVariant& variant,
                          const DeviceVariant& options) {
    params.scale = static_cast<float>(variant.scale);
    params.visibility = variant.visibility;
    params.has_softcap = variant.logit_softcap.has_value();
    params.logit_softcap = static_cast<float>(variant.logit_softcap.value_or(0.0));
    params.alibi_slopes = options.alibi_slopes.as<float>();
    params.sinks = options.sinks.as<float>();
    params.mm_prefix_ranges = options.mm_prefix_ranges.as<MmPrefixRange>();
    params.num_mm_prefix_ranges = static_cast<std::int64_t>(variant.mm_prefix_ranges.size());
  }

  void set_cache(PagedAttentionParams& params) const {
    params.key_cache = cache_.keys();
    params.key_strides = cache_.key_strides();
    params.value_cache = cache_.values();
    params.value_strides = cache_.value_strides();
    params.block_size = cache_.spec().block_size;
    params.k_scales = cache_.k_scales();
    params.v_scales = cache_.v_scales();
  }

  void set_own_tokens(PagedAttentionParams& params,
                      const DeviceArray& keys,
                      const DeviceArray& values) const {
    const std::int64_t num_kv_heads = params.num_kv_heads;
    params.key_cache = keys.data();
    params.key_strides = {.block = num_kv_heads * params.head_size, .head = params.head_size};
    params.value_cache = values.data();
    params.value_strides = {.block = num_kv_heads * params.head_size_v, .head = params.head_size_v};
    params.block_size = 1;
    params.k_scales = cache_.k_scales();
    params.v_scales = cache_.v_scales();
  }

  void launch_and_fetch(PagedAttentionParams params,
                        KernelTable<PagedAttentionParams>::Launcher attend,
                        Tensor& output,
                        Tensor& lse) const {
    output =
        Tensor(DType::kFloat32, {params.num_tokens, params.num_query_heads, params.head_size_v});
    lse = Tensor(DType::kFloat32, {params.num_query_heads, params.num_tokens});
    const DeviceArray device_output(device_, static_cast<std::size_t>(output.size_in_bytes()),
                                    "output");
    const DeviceArray device_lse(device_, static_cast<std::size_t>(lse.size_in_bytes()), "lse");
    params.output = device_output.as<float>();
    params.lse = device_lse.as<float>();
    if (paged_attention_.workspace_floats != nullptr) {
      params.workspace_floats = paged_attention_.workspace_floats(params);
    }
    const DeviceArray workspace(
        device_, static_cast<std::size_t>(params.workspace_floats) * sizeof(float), "workspace");
    params.workspace = workspace.as<float>();
    attend(params);
    device_output.copy_to(output.bytes());
    device_lse.copy_to(lse.bytes());
  }

  std::shared_ptr<Device> device_;
  KernelSet kernels_;
  AttentionKernel paged_attention_;
  DeviceKvCache cache_;
};

class NaiveBackend final : public AttentionBackend {
 public:
  NaiveBackend(std::shared_ptr<Device> device,
               const AttentionKernel& paged_attention,
               const Precision& precision)
      : device_(std::move(device)), paged_attention_(paged_attention), precision_(precision) {}

  std::string name() const override { return "NAIVE"; }
  std::string target() const override { return device_->target(); }
  Precision precision() const override { return precision_; }
  std::unique_ptr<AttentionImpl> make_impl(const KvCache& initial_cache) const override {
    return std::make_unique<NaiveImpl>(device_, paged_attention_, initial_cache);
  }

 private:
  std::shared_ptr<Device> device_;
  AttentionKernel paged_attention_;
  Precision precision_;
};

// How far each rung is from the canonical order: its header's "Order".
Precision precision_of_decode(int attention_rung) {
  Precision precision = Precision::canonical_float();
  if (attention_rung >= 4) precision.extra_roundings = 3;  // the weight of a partition
  if (attention_rung == 6) {
    precision.keys_per_rescaling = 32;  // a tile of each of four warps
    precision.extra_roundings = 6;      // the weights of a warp and of a partition
  }
  return precision;
}

}  // namespace

std::unique_ptr<AttentionBackend> make_naive_backend(std::shared_ptr<Device> device,
                                                     int attention_rung) {
  const KernelSet kernels = kernels_of(*device);
  const int num_rungs = static_cast<int>(kernels.paged_decode.size());
  if (attention_rung < 1 || attention_rung > num_rungs) {
    throw Error("attention_rung is " + std::to_string(attention_rung) +
                ", but paged_decode has the rungs 1 to " + std::to_string(num_rungs) + ".");
  }
  const std::size_t index = static_cast<std::size_t>(attention_rung - 1);
  return make_backend_of_kernel(std::move(device), kernels.paged_decode[index].launchers,
                                precision_of_decode(attention_rung),
                                attention_rung < 4 ? nullptr : &decode_workspace_floats);
}

std::unique_ptr<AttentionBackend> make_backend_of_kernel(
    std::shared_ptr<Device> device,
    const KernelTable<PagedAttentionParams>& attention,
    const Precision& precision,
    WorkspaceFloats workspace_floats) {
  return std::make_unique<NaiveBackend>(std::move(device),
                                        AttentionKernel{attention, workspace_floats}, precision);
}

}  // namespace pagelab
