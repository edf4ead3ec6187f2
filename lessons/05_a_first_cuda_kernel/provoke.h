/// \file
/// Runs one of the faulty kernels of faults.cuh, by name.
#pragma once

#include <string>
#include <vector>

#include "gpu/runtime/device_array.h"
#include "lessons/05_a_first_cuda_kernel/faults.h"
#include "reference/contract/error.h"

namespace pagelab::lesson_05 {

/// Launches a faulty kernel in the checked simulator. Never returns.
/// \param name    of the kernel, one of those that there are
/// \throws Error  with what the simulator says to it
[[noreturn]] inline void provoke(const std::string& name) {
  const std::shared_ptr<Device> simulator = checked_simulator_device();
  const std::vector<float> ones(kFaultCount, 1.0f);
  const DeviceArray in = DeviceArray::copy_of(simulator, ones, "in");
  const DeviceArray out(simulator, in.bytes(), "out");
  for (const Fault& fault : on_checked_simulator::faults()) {
    if (name != fault.name) continue;
    on_checked_simulator::launch_fault(fault, {in.as<float>(), out.as<float>(), kFaultCount});
  }
  throw Error("The simulator found nothing wrong with " + name + ".");
}

}  // namespace pagelab::lesson_05
