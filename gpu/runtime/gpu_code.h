/// \file
/// Whether the GPU code in this program runs on a GPU. Without the question, the first launch would
/// fail with "no kernel image is available for execution on the device".
#pragma once

#include <string>

namespace pagelab {

/// A GPU's generation: 9.0 is Hopper.
struct ComputeCapability {
  int major;  ///< generation
  int minor;  ///< member of it
};

/// The generation of this machine's GPU.
/// \throws Error  with the reason if there is none that can run pagelab's kernels
ComputeCapability cuda_compute_capability();

/// Why code built for these architectures does not run on a GPU of this capability, or an empty
/// string if it does.
/// \param architectures  as CMAKE_CUDA_ARCHITECTURES lists them, separated by ';' or ',':
///                       "80-virtual" is PTX (runs on 8.0 and everything newer), "80-real" machine
///                       code (8.x from 8.0 on), "80" both, "90a-..." for 9.0 alone, "100f-..." for
///                       one generation
/// \param device_name    for the message
/// \param device         what the GPU is
/// \source               CUDA C++ Programming Guide, "Compilation workflow" and "Application
///                       Compatibility"
std::string why_code_does_not_run(const std::string& architectures,
                                  const std::string& device_name,
                                  ComputeCapability device);

}  // namespace pagelab
