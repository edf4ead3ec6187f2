#include "gpu/backends/triton_attn.h"

#include <utility>

#include "gpu/backends/kernel_impl.h"
#include "gpu/backends/kernels_of.h"

namespace pagelab {
namespace {

// The rung of gpu/kernels/unified for a batch.
const TableRung<PagedAttentionParams>& form_for(const KernelSet& kernels,
                                                const CommonAttentionMetadata& metadata,
                                                std::int64_t num_kv_heads,
                                                const TritonAttnOptions& options) {
  const bool is_segmented =
      !options.batch_invariant && takes_segmented_form(metadata, num_kv_heads);
  return kernels.unified[is_segmented ? 1 : 0];
}

class TritonAttnImpl final : public KernelImpl {
 public:
  TritonAttnImpl(std::shared_ptr<Device> device,
                 const KvCache& initial_cache,
                 const TritonAttnOptions& options)
      : KernelImpl(std::move(device), initial_cache), options_(options) {}

 protected:
  void attend(const HostBatch& batch, Tensor& output, Tensor& lse) override {
    const DeviceBatch on_device(device(), batch, cache());
    const std::int64_t num_kv_heads = batch.key.shape()[1];
    launch_rung(device(), form_for(kernels(), batch.metadata, num_kv_heads, options_),
                on_device.params());
    on_device.copy_results_to(output, lse);
  }

 private:
  TritonAttnOptions options_;
};

class TritonAttnBackend final : public AttentionBackend {
 public:
  TritonAttnBackend(std::shared_ptr<Device> device, const TritonAttnOptions& options)
      : device_(std::move(device)), options_(options) {}

  std::string name() const override { return "TRITON_ATTN"; }
  std::string target() const override { return device_->target(); }
  bool has_own_order() const override { return true; }
  Precision precision(const AttentionStep& step, std::int64_t) const override {
    const KernelSet kernels = kernels_of(*device_);
    return form_for(kernels, step.metadata, step.num_kv_heads(), options_)
        .precision(step.query.dtype());
  }
  std::unique_ptr<AttentionImpl> make_impl(const KvCache& initial_cache) const override {
    return std::make_unique<TritonAttnImpl>(device_, initial_cache, options_);
  }

 private:
  std::shared_ptr<Device> device_;
  TritonAttnOptions options_;
};

}  // namespace

bool takes_segmented_form(const CommonAttentionMetadata& metadata, std::int64_t num_kv_heads) {
  return metadata.max_query_len() <= 1 &&
         metadata.num_reqs() <= kMinLaunchGridSize2D / num_kv_heads;
}

std::unique_ptr<AttentionBackend> make_triton_attn_backend(std::shared_ptr<Device> device,
                                                           const TritonAttnOptions& options) {
  return std::make_unique<TritonAttnBackend>(std::move(device), options);
}

}  // namespace pagelab
