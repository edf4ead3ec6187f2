/// \file
/// Runs one of the fault kernels on a device, with the arrays that they all expect.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/runtime/device.h"
#include "tests/simulator/faults/faults.h"

namespace pagelab {

/// Which of two kernels.
enum class Twin : std::uint8_t {
  kFaulty,  ///< makes the mistake
  kSound,   ///< does not
};

/// What came of it.
struct FaultRun {
  std::string error;     ///< what the device said; empty if nothing
  std::vector<float> y;  ///< [64] the array that kernels write to; empty if there was an error
};

/// All faults of a device's target, in the order of the page docs/simulator_checks.md.
/// \throws Error  if the fault kernels were not built for it
std::vector<Fault> faults_of(const Device& device);

/// Fills the arrays, launches, and waits.
/// \param device  with checks, or a GPU
/// \param fault   one of faults_of(device)
/// \param twin    which
FaultRun run_fault(const std::shared_ptr<Device>& device, const Fault& fault, Twin twin);

}  // namespace pagelab
