#include "gpu/backends/triton_attn.h"

#include <utility>

#include "gpu/backends/kernel_backend.h"
#include "gpu/backends/kernels_of.h"

namespace pagelab {
namespace {

// The rung of gpu/kernels/unified for a batch.
const AttentionRung& form_for(const KernelSet& kernels,
                              const LaunchShape& shape,
                              std::int64_t num_kv_heads,
                              const TritonAttnOptions& options) {
  const bool is_segmented = !options.batch_invariant && takes_segmented_form(shape, num_kv_heads);
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
    launch_rung(device(),
                form_for(kernels(), launch_shape_of(batch.metadata), num_kv_heads, options_),
                on_device.params());
    on_device.copy_results_to(output, lse);
  }

 private:
  TritonAttnOptions options_;
};

class TritonAttnBackend final : public KernelBackend {
 public:
  TritonAttnBackend(std::shared_ptr<Device> device, const TritonAttnOptions& options)
      : KernelBackend(std::move(device)), options_(options) {}

  std::string name() const override { return "TRITON_ATTN"; }
  bool has_own_order() const override { return true; }
  Precision precision(const AttentionStep& step, std::int64_t) const override {
    const KernelSet kernels = kernels_of(*device());
    return form_for(kernels, launch_shape_of(step.metadata), step.num_kv_heads(), options_)
        .precision(step.query.dtype());
  }
  std::unique_ptr<KernelImpl> make_layer(const KvCache& initial_cache) const override {
    return std::make_unique<TritonAttnImpl>(device(), initial_cache, options_);
  }
  std::unique_ptr<LaunchedAttention> make_launched_attention(
      const PersistentBatchSizes&) const override {
    return launched_by_one_rung([kernels = kernels_of(*device()), options = options_](
                                    const LaunchShape& shape, const PagedAttentionParams& params) {
      return form_for(kernels, shape, params.num_kv_heads, options);
    });
  }

 private:
  TritonAttnOptions options_;
};

}  // namespace

bool takes_segmented_form(const LaunchShape& shape, std::int64_t num_kv_heads) {
  return shape.max_query_len <= 1 && shape.num_reqs <= kMinLaunchGridSize2D / num_kv_heads;
}

std::unique_ptr<AttentionBackend> make_triton_attn_backend(std::shared_ptr<Device> device,
                                                           const TritonAttnOptions& options) {
  return std::make_unique<TritonAttnBackend>(std::move(device), options);
}

}  // namespace pagelab
