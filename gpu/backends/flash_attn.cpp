#include "gpu/backends/flash_attn.h"

#include <string>
#include <vector>

#include "gpu/backends/cascade.h"
#include "gpu/backends/kernel_backend.h"
#include "gpu/backends/kernels_of.h"
#include "gpu/backends/rung_choice.h"
#include "gpu/kernels/paged_prefill/head_sizes.h"

namespace pagelab {
namespace {

constexpr const char* kName = "FLASH_ATTN";

// Whether a batch is one of decodes, whose keys may be split.
bool splits_kv(const FlashAttnMetadata& metadata) {
  return metadata.max_query_len == 1 && metadata.max_num_splits != 1;
}

// The two kernels of a cascade. The prefix is one request with as many queries as the batch has; where these are
// decodes, it is split as they are.
CascadeRungs cascade_rungs_for(const KernelSet& kernels,
                               const FlashAttnMetadata& metadata,
                               const PagedAttentionParams& sizes) {
  const AttentionRung suffix = flash_attn_rung(kernels, metadata, sizes);
  const auto rungs = splits_kv(metadata) ? prefix_rungs(kernels) : varlen_rungs(kernels);
  return {first_that_takes(kName, rungs, sizes), suffix};
}

class FlashAttnImpl final : public KernelImpl {
 public:
  FlashAttnImpl(std::shared_ptr<Device> device,
                const FlashAttnOptions& options,
                const KvCache& initial_cache)
      : KernelImpl(std::move(device), initial_cache), options_(options) {}

 private:
  void attend(const HostBatch& batch, Tensor& output, Tensor& lse) override {
    const FlashAttnMetadata metadata = build_flash_attn_metadata(batch.metadata, options_);
    const DeviceBatch on_device(device(), batch, cache());
    PagedAttentionParams params = on_device.params();
    params.max_seq_len = metadata.max_seq_len;
    launch_rung(device(), flash_attn_rung(kernels(), metadata, params), params);
    on_device.copy_results_to(output, lse);
  }

  void attend_in_parts(const HostBatch& batch,
                       const CascadeParts& parts,
                       Tensor& output,
                       Tensor& lse) override {
    const FlashAttnMetadata metadata = build_flash_attn_metadata(batch.metadata, options_);
    const PagedAttentionParams sizes =
        launch_sizes(batch, cache().spec(), cache().key_strides(), cache().value_strides());
    attend_by_rungs(device(), kernels(), cache(), batch, parts,
                    cascade_rungs_for(kernels(), metadata, sizes), output, lse);
  }

  FlashAttnOptions options_;
};

class FlashAttnBackend final : public KernelBackend {
 public:
  FlashAttnBackend(std::shared_ptr<Device> device, const FlashAttnOptions& options)
      : KernelBackend(std::move(device)), options_(options) {}

  std::string name() const override { return kName; }
  Precision precision(const AttentionStep& step, std::int64_t) const override {
    const FlashAttnMetadata metadata = build_flash_attn_metadata(step.metadata, options_);
    return flash_attn_rung(kernels_of(*device()), metadata, launch_sizes(step))
        .precision(step.query.dtype());
  }
  CascadePrecision cascade_precision(const AttentionStep& step, std::int64_t) const override {
    const FlashAttnMetadata metadata = build_flash_attn_metadata(step.metadata, options_);
    const CascadeRungs rungs =
        cascade_rungs_for(kernels_of(*device()), metadata, launch_sizes(step));
    const auto of_requests = [&](const AttentionRung& rung) {
      return std::vector<Precision>(step.metadata.seq_lens.size(),
                                    rung.precision(step.query.dtype()));
    };
    return {of_requests(rungs.prefix), of_requests(rungs.suffix)};
  }
  bool has_own_order() const override { return true; }
  bool has_cascade() const override { return true; }
  std::unique_ptr<KernelImpl> make_layer(const KvCache& initial_cache) const override {
    return std::make_unique<FlashAttnImpl>(device(), options_, initial_cache);
  }
  std::unique_ptr<LaunchedAttention> make_launched_attention(
      const PersistentBatchSizes&) const override {
    return launched_flash_attn(kernels_of(*device()), options_);
  }

 private:
  FlashAttnOptions options_;
};

}  // namespace

FlashAttnMetadata build_flash_attn_metadata(const CommonAttentionMetadata& common,
                                            const FlashAttnOptions& options) {
  return flash_attn_metadata(common.max_query_len(), common.max_seq_len(), options);
}

FlashAttnMetadata flash_attn_metadata(std::int64_t max_query_len,
                                      std::int64_t max_seq_len,
                                      const FlashAttnOptions& options) {
  if (options.max_num_splits != 0 && options.max_num_splits != 1) {
    throw Error("max_num_splits is " + std::to_string(options.max_num_splits) +
                ", but FLASH_ATTN takes 0 (it splits at every 512 keys) or 1 (it does not split).");
  }
  return {max_query_len, max_seq_len, options.batch_invariant ? 1 : options.max_num_splits};
}

AttentionRung flash_attn_rung(const KernelSet& kernels,
                              const FlashAttnMetadata& metadata,
                              const PagedAttentionParams& sizes) {
  // paged_decode would take longer heads: what is supported is not to depend on the batch.
  require_taken(kName, refusal_of_head_sizes(sizes));
  return first_that_takes(
      kName, splits_kv(metadata) ? split_kv_rungs(kernels) : varlen_rungs(kernels), sizes);
}

std::unique_ptr<LaunchedAttention> launched_flash_attn(const KernelSet& kernels,
                                                       const FlashAttnOptions& options) {
  return launched_by_one_rung(
      [kernels, options](const LaunchShape& shape, const PagedAttentionParams& params) {
        const FlashAttnMetadata metadata =
            flash_attn_metadata(shape.max_query_len, shape.max_seq_len, options);
        return flash_attn_rung(kernels, metadata, params);
      });
}

std::unique_ptr<AttentionBackend> make_flash_attn_backend(std::shared_ptr<Device> device,
                                                          const FlashAttnOptions& options) {
  build_flash_attn_metadata({}, options);  // refuses options before there is a batch
  return std::make_unique<FlashAttnBackend>(std::move(device), options);
}

}  // namespace pagelab
