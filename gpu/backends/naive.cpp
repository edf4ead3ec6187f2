#include "gpu/backends/naive.h"

#include <string_view>

#include "gpu/backends/kernel_backend.h"
#include "gpu/backends/kernels_of.h"

namespace pagelab {
namespace {

class NaiveImpl final : public KernelImpl {
 public:
  NaiveImpl(std::shared_ptr<Device> device, const AttentionRung& rung, const KvCache& initial_cache)
      : KernelImpl(std::move(device), initial_cache), rung_(rung) {}

 private:
  void attend(const HostBatch& batch, Tensor& output, Tensor& lse) override {
    const DeviceBatch on_device(device(), batch, cache());
    launch_rung(device(), rung_, on_device.params());
    on_device.copy_results_to(output, lse);
  }

  AttentionRung rung_;
};

class NaiveBackend final : public KernelBackend {
 public:
  NaiveBackend(std::shared_ptr<Device> device, const AttentionRung& rung)
      : KernelBackend(std::move(device)), rung_(rung) {}

  std::string name() const override { return "NAIVE"; }
  Precision precision(const AttentionStep& step, std::int64_t) const override {
    return rung_.precision(step.query.dtype());
  }
  bool has_own_order() const override {
    return std::string_view(rung_.name) != "paged_decode/1_naive";
  }
  std::unique_ptr<KernelImpl> make_layer(const KvCache& initial_cache) const override {
    return std::make_unique<NaiveImpl>(device(), rung_, initial_cache);
  }
  std::unique_ptr<LaunchedAttention> make_launched_attention(
      const PersistentBatchSizes&) const override {
    return launched_by_one_rung(
        [rung = rung_](const LaunchShape&, const PagedAttentionParams&) { return rung; });
  }

 private:
  AttentionRung rung_;
};

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
  return make_backend_of_rung(std::move(device), kernels.paged_decode[index]);
}

std::unique_ptr<AttentionBackend> make_backend_of_rung(
    std::shared_ptr<Device> device, const TableRung<PagedAttentionParams>& rung) {
  return std::make_unique<NaiveBackend>(std::move(device), rung);
}

}  // namespace pagelab
