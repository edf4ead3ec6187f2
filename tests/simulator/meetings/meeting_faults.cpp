#include "tests/simulator/meetings/meeting_faults.h"

#include <initializer_list>

#include "reference/contract/error.h"

namespace pagelab {
namespace {

std::vector<Fault> joined(std::initializer_list<std::vector<Fault>> parts) {
  std::vector<Fault> all;
  for (const std::vector<Fault>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

std::vector<Fault> meeting_faults_of(const Device& device) {
  switch (device.kind()) {
    case DeviceKind::kSimulator:
      return joined({on_simulator::barrier_faults(), on_simulator::warp_faults(),
                     on_simulator::lock_faults(), on_simulator::launch_faults(),
                     on_simulator::template_sweep_faults()});
#if defined(PAGELAB_HAS_CHECKED_KERNELS)
    case DeviceKind::kCheckedSimulator:
      return joined({on_checked_simulator::barrier_faults(), on_checked_simulator::warp_faults(),
                     on_checked_simulator::lock_faults(), on_checked_simulator::launch_faults(),
                     on_checked_simulator::template_sweep_faults()});
#endif
#if defined(PAGELAB_HAS_CUDA)
    case DeviceKind::kCuda:
      return joined({on_cuda::barrier_faults(), on_cuda::warp_faults(), on_cuda::lock_faults(),
                     on_cuda::launch_faults(), on_cuda::template_sweep_faults()});
#endif
    default:
      throw Error("this build has no kernels whose threads never meet for " + device.name() + ".");
  }
}

}  // namespace pagelab
