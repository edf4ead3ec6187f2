/// \file
/// Which compiled form of the kernels a device runs.
#pragma once

#include "gpu/kernels/kernel_set.h"
#include "gpu/runtime/device.h"

namespace pagelab {

/// The kernels for a device.
/// \throws Error  if this build has none for it
KernelSet kernels_of(const Device& device);

}  // namespace pagelab
