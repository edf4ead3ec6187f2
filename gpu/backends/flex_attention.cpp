#include "gpu/backends/flex_attention.h"

#include <algorithm>
#include <utility>

#include "gpu/backends/kernel_backend.h"
#include "gpu/backends/kernels_of.h"
#include "gpu/runtime/device_array.h"
#include "reference/contract/own_tokens.h"

namespace pagelab {
namespace {

// A batch over a cache. Encoder-only attention reads its own tokens as if they were one, with blocks of one
// token each.
struct FlexBatch {
  CommonAttentionMetadata metadata;
  std::int64_t block_size = 1;
  std::int64_t num_blocks = 0;
};

FlexBatch flex_batch(const HostBatch& batch, const KvCacheSpec& spec) {
  if (batch.variant.attn_type != AttnType::kEncoderOnly) {
    return {batch.metadata, spec.block_size, spec.num_blocks};
  }
  FlexBatch own = {batch.metadata, 1, batch.query.shape()[0]};
  own.metadata.block_table = table_of_own_tokens(batch.metadata);
  return own;
}

VariantMask mask_of(const AttentionVariant& variant) {
  return {variant.visibility, variant.mm_prefix_ranges.data(),
          static_cast<std::int64_t>(variant.mm_prefix_ranges.size())};
}

class FlexAttentionImpl final : public KernelImpl {
 public:
  FlexAttentionImpl(std::shared_ptr<Device> device,
                    const KvCache& initial_cache,
                    FlexModifiersOf modifiers_of)
      : KernelImpl(std::move(device), initial_cache), modifiers_of_(std::move(modifiers_of)) {}

 protected:
  void attend(const HostBatch& batch, Tensor& output, Tensor& lse) override {
    const DeviceBatch on_device(device(), batch, cache());
    FlexModifiers modifiers;
    if (modifiers_of_ != nullptr) modifiers = own_modifiers(batch);
    const FlexBatch flex = flex_batch(batch, cache().spec());
    const std::vector<std::int32_t> inverse =
        physical_to_logical(flex.metadata, flex.block_size, flex.num_blocks);
    const BlockMask mask = block_mask(batch, flex, modifiers);
    const DeviceArray device_inverse =
        DeviceArray::copy_of(device(), inverse, "physical_to_logical");
    const DeviceArray group_start = DeviceArray::copy_of(device(), mask.group_start, "group_start");
    const DeviceArray kv_num_blocks =
        DeviceArray::copy_of(device(), mask.kv_num_blocks, "kv_num_blocks");
    const DeviceArray kv_indices = DeviceArray::copy_of(device(), mask.kv_indices, "kv_indices");

    FlexAttentionParams attention;
    attention.step = on_device.params();
    attention.physical_to_logical = device_inverse.as<std::int32_t>();
    attention.num_blocks = flex.num_blocks;
    attention.group_start = group_start.as<std::int32_t>();
    attention.kv_num_blocks = kv_num_blocks.as<std::int32_t>();
    attention.kv_indices = kv_indices.as<std::int32_t>();
    attention.num_groups = mask.num_groups();
    attention.max_blocks_per_group = mask.max_blocks_per_group;
    if (modifiers.launch != nullptr) {
      modifiers.launch(attention);
    } else {
      const PagedAttentionParams& step = attention.step;
      kernels().flex.launchers.at(step.query_dtype, step.cache_dtype)(attention);
    }
    on_device.copy_results_to(output, lse);
  }

 private:
  FlexModifiers own_modifiers(const HostBatch& batch) const {
    FlexModifiers modifiers = modifiers_of_(batch);
    if (modifiers.launch != nullptr) return modifiers;
    throw Error(
        "FLEX_ATTENTION got modifiers without a launcher: launch is empty, but it must launch the "
        "kernel that was compiled with them.");
  }

  // The contract's mask is the same for all heads; whether a user's is, only asking tells.
  static BlockMask block_mask(const HostBatch& batch,
                              const FlexBatch& flex,
                              const FlexModifiers& modifiers) {
    const VariantMask mask_of_variant = mask_of(batch.variant);
    const std::int64_t num_tokens = batch.query.shape()[0];
    if (modifiers.mask_mod == nullptr) {
      return build_block_mask(flex.metadata, num_tokens, 1, flex.block_size, flex.num_blocks,
                              mask_of_variant);
    }
    const auto both = [&](const FlexPair& pair) {
      return mask_of_variant(pair) && modifiers.mask_mod(pair);
    };
    return build_block_mask(flex.metadata, num_tokens, batch.query.shape()[1], flex.block_size,
                            flex.num_blocks, both);
  }

  FlexModifiersOf modifiers_of_;
};

// The kernel over persistent arrays. The block mask is built once a step, for all layers, as vLLM's is; a launch has a
// thread block for as many groups as there may be, one a row, and a list has room for every block of the cache.
class LaunchedFlex final : public LaunchedAttention {
 public:
  LaunchedFlex(const std::shared_ptr<Device>& device,
               const PersistentBatchSizes& sizes,
               bool has_rules_of_contract)
      : kernels_(kernels_of(*device)),
        sizes_(sizes),
        has_rules_of_contract_(has_rules_of_contract),
        physical_to_logical_(
            device, bytes_of(sizes.max_num_reqs * sizes.cache.num_blocks), "physical_to_logical"),
        group_start_(device, bytes_of(sizes.max_num_tokens + 1), "group_start"),
        kv_num_blocks_(device, bytes_of(sizes.max_num_tokens), "kv_num_blocks"),
        kv_indices_(device, bytes_of(sizes.max_num_tokens * sizes.cache.num_blocks), "kv_indices") {
  }

  // Modifiers of a user's own want to see each forward pass.
  bool takes(const LaunchShape&) const override { return has_rules_of_contract_; }

  void update(const CommonAttentionMetadata& padded) override {
    if (!has_rules_of_contract_) return;
    const std::int64_t num_blocks = sizes_.cache.num_blocks;
    physical_to_logical_.overwrite(
        physical_to_logical(padded, sizes_.cache.block_size, num_blocks));
    const auto num_tokens = static_cast<std::int64_t>(padded.slot_mapping.size());
    BlockMask mask =
        build_block_mask(padded, num_tokens, 1, sizes_.cache.block_size, num_blocks, VariantMask{});
    std::vector<std::int32_t> lists(static_cast<std::size_t>(mask.num_groups() * num_blocks), -1);
    for (std::int64_t group = 0; group < mask.num_groups(); ++group) {
      std::copy_n(mask.kv_indices.begin() + group * mask.max_blocks_per_group,
                  mask.kv_num_blocks[static_cast<std::size_t>(group)],
                  lists.begin() + group * num_blocks);
    }
    kv_indices_.overwrite(lists);
    // Thread blocks behind the last group get an empty one.
    const auto most_groups = static_cast<std::size_t>(sizes_.max_num_tokens);
    mask.group_start.resize(most_groups + 1, mask.group_start.back());
    mask.kv_num_blocks.resize(most_groups, 0);
    group_start_.overwrite(mask.group_start);
    kv_num_blocks_.overwrite(mask.kv_num_blocks);
  }

  std::int64_t workspace_floats(const LaunchShape&, const PagedAttentionParams&) const override {
    return 0;
  }

  void launch(const LaunchShape& shape, const PagedAttentionParams& params) const override {
    FlexAttentionParams attention;
    attention.step = params;
    attention.physical_to_logical = physical_to_logical_.as<std::int32_t>();
    attention.num_blocks = sizes_.cache.num_blocks;
    attention.group_start = group_start_.as<std::int32_t>();
    attention.kv_num_blocks = kv_num_blocks_.as<std::int32_t>();
    attention.kv_indices = kv_indices_.as<std::int32_t>();
    attention.num_groups = shape.num_tokens;
    attention.max_blocks_per_group = sizes_.cache.num_blocks;
    kernels_.flex.launchers.at(params.query_dtype, params.cache_dtype)(attention);
  }

 private:
  static std::size_t bytes_of(std::int64_t count) {
    return static_cast<std::size_t>(count) * sizeof(std::int32_t);
  }

  KernelSet kernels_;
  PersistentBatchSizes sizes_;
  bool has_rules_of_contract_;
  DeviceArray physical_to_logical_;  // [max_num_reqs, num_blocks]
  DeviceArray group_start_;          // [max_num_tokens + 1]
  DeviceArray kv_num_blocks_;        // [max_num_tokens]
  DeviceArray kv_indices_;           // [max_num_tokens, num_blocks]
};

class FlexAttentionBackend final : public KernelBackend {
 public:
  FlexAttentionBackend(std::shared_ptr<Device> device, FlexModifiersOf modifiers_of)
      : KernelBackend(std::move(device)), modifiers_of_(std::move(modifiers_of)) {}

  std::string name() const override { return "FLEX_ATTENTION"; }
  bool has_own_order() const override { return true; }
  Precision precision(const AttentionStep& step, std::int64_t) const override {
    return kernels_of(*device()).flex.precision(step.query.dtype());
  }
  std::unique_ptr<KernelImpl> make_layer(const KvCache& initial_cache) const override {
    return std::make_unique<FlexAttentionImpl>(device(), initial_cache, modifiers_of_);
  }
  std::unique_ptr<LaunchedAttention> make_launched_attention(
      const PersistentBatchSizes& sizes) const override {
    return std::make_unique<LaunchedFlex>(device(), sizes, modifiers_of_ == nullptr);
  }

 private:
  FlexModifiersOf modifiers_of_;
};

}  // namespace

std::unique_ptr<AttentionBackend> make_flex_attention_backend(std::shared_ptr<Device> device,
                                                              FlexModifiersOf modifiers_of) {
  return std::make_unique<FlexAttentionBackend>(std::move(device), std::move(modifiers_of));
}

}  // namespace pagelab
