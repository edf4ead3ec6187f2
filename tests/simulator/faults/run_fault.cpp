#include "tests/simulator/faults/run_fault.h"

#include "gpu/runtime/device_array.h"
#include "reference/contract/error.h"

namespace pagelab {

namespace {

// Unused in a build for the plain simulator alone.
[[maybe_unused]] std::vector<Fault> joined(std::vector<Fault> faults,
                                           const std::vector<Fault>& second,
                                           const std::vector<Fault>& third) {
  faults.insert(faults.end(), second.begin(), second.end());
  faults.insert(faults.end(), third.begin(), third.end());
  return faults;
}

}  // namespace

std::vector<Fault> faults_of(const Device& device) {
  switch (device.kind()) {
#if defined(PAGELAB_HAS_CHECKED_KERNELS)
    case DeviceKind::kCheckedSimulator:
      return joined(on_checked_simulator::access_faults(), on_checked_simulator::race_faults(),
                    on_checked_simulator::warp_and_copy_faults());
#endif
#if defined(PAGELAB_HAS_CUDA)
    case DeviceKind::kCuda:
      return joined(on_cuda::access_faults(), on_cuda::race_faults(),
                    on_cuda::warp_and_copy_faults());
#endif
    default:
      throw Error("this build has no fault kernels for " + device.name() + ".");
  }
}

FaultRun run_fault(const std::shared_ptr<Device>& device, const Fault& fault, Twin twin) {
  const auto copy_of = [&](const auto& values, const char* name) {
    return DeviceArray::copy_of(device, values, name);
  };
  const DeviceArray x = copy_of(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}, "x");
  const DeviceArray y = copy_of(std::vector<float>(64), "y");
  const DeviceArray small = copy_of(std::vector<float>(4), "small");
  const DeviceArray unwritten(device, 8 * sizeof(float), "unwritten");
  const DeviceArray bytes = copy_of(std::vector<unsigned char>(8), "bytes");
  const DeviceArray count = copy_of(std::vector<int>(1), "count");

  FaultParams params;
  params.x = x.as<float>();
  params.y = y.as<float>();
  params.small = small.as<float>();
  params.unwritten = unwritten.as<float>();
  params.bytes = bytes.as<unsigned char>();
  params.count = count.as<int>();
  {
    const DeviceArray freed = copy_of(std::vector<float>(8), "freed");
    params.freed = freed.as<float>();
  }
  FaultRun run;
  try {
    (twin == Twin::kSound ? fault.launch_sound : fault.launch)(params);
    device->synchronize();
    run.y.resize(64);
    y.copy_to(run.y.data());
  } catch (const Error& error) {
    run.error = error.what();
    run.y.clear();
  }
  return run;
}

}  // namespace pagelab
