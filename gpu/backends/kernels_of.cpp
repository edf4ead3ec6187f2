#include "gpu/backends/kernels_of.h"

#include "reference/contract/error.h"

namespace pagelab {

KernelSet kernels_of(const Device& device) {
  switch (device.kind()) {
    case DeviceKind::kSimulator:
      return on_simulator::kernel_set();
#if defined(PAGELAB_HAS_CHECKED_KERNELS)
    case DeviceKind::kCheckedSimulator:
      return on_checked_simulator::kernel_set();
#endif
#if defined(PAGELAB_HAS_CUDA)
    case DeviceKind::kCuda:
      return on_cuda::kernel_set();
#endif
    default:
      throw Error("this build of pagelab has no kernels for " + device.name() + ".");
  }
}

}  // namespace pagelab
