/// \file
/// What all backends that run kernels are, seen from outside: they make layers (kernel_impl.h), which take a step's
/// arrays from the host, and the attention of a model that lies on the device as a whole (device_llama.h).
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "gpu/backends/kernel_impl.h"
#include "gpu/backends/launched_attention.h"
#include "gpu/runtime/device_model.h"

namespace pagelab {

/// A backend on a device.
class KernelBackend : public DeviceModelBackend {
 public:
  /// \param device  where caches lie and kernels run
  explicit KernelBackend(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  std::string target() const override { return device_->target(); }
  std::unique_ptr<AttentionImpl> make_impl(const KvCache& initial_cache) const final {
    return make_layer(initial_cache);
  }
  std::unique_ptr<DeviceModel> make_device_model(const Llama& model,
                                                 const DeviceModelSizes& sizes) const final;

  /// A layer, whose cache starts with these contents.
  virtual std::unique_ptr<KernelImpl> make_layer(const KvCache& initial_cache) const = 0;
  /// The attention of all layers over persistent arrays.
  /// \param sizes  of the arrays
  virtual std::unique_ptr<LaunchedAttention> make_launched_attention(
      const PersistentBatchSizes& sizes) const = 0;

  const std::shared_ptr<Device>& device() const { return device_; }  ///< as given

 private:
  std::shared_ptr<Device> device_;
};

}  // namespace pagelab
