/// \file
/// GPUs by the names that people call them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reference/registry/selection_question.h"

namespace pagelab {

/// A GPU and its compute capability.
struct GpuName {
  std::string_view name;        ///< in lower case: "h100"
  DeviceCapability capability;  ///< 9.0
};

/// What is known by name, the older generations first.
/// \source NVIDIA, CUDA GPU compute capability (developer.nvidia.com/cuda/gpus)
const std::vector<GpuName>& gpu_names();

/// The capability behind a name, or behind "9.0" itself.
/// \param text    letter case does not count
/// \throws Error  naming the GPUs that there are, and the nearest
DeviceCapability capability_of_gpu(const std::string& text);

/// "9.0".
std::string to_string(DeviceCapability capability);

}  // namespace pagelab
