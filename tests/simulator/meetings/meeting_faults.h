/// \file
/// Kernels whose threads never meet, and their sound twins, which do: barriers and words of a warp that
/// not all reach, and locks that nobody gives back. As those of tests/simulator/faults, they are plain
/// CUDA.
#pragma once

#include <vector>

#include "gpu/runtime/device.h"
#include "tests/simulator/faults/faults.h"

namespace pagelab {

/// The kernels compiled by nvcc.
namespace on_cuda {
std::vector<Fault> barrier_faults();         ///< __syncthreads that not all reach
std::vector<Fault> warp_faults();            ///< words of a warp that not all reach
std::vector<Fault> lock_faults();            ///< threads that spin for ever
std::vector<Fault> launch_faults();          ///< more shared memory than there is
std::vector<Fault> template_sweep_faults();  ///< S7: each parameter of a template
}  // namespace on_cuda

/// The kernels without checks.
namespace on_simulator {
std::vector<Fault> barrier_faults();         ///< __syncthreads that not all reach
std::vector<Fault> warp_faults();            ///< words of a warp that not all reach
std::vector<Fault> lock_faults();            ///< threads that spin for ever
std::vector<Fault> launch_faults();          ///< more shared memory than there is
std::vector<Fault> template_sweep_faults();  ///< S7: each parameter of a template
}  // namespace on_simulator

/// The kernels with the checks.
namespace on_checked_simulator {
std::vector<Fault> barrier_faults();         ///< __syncthreads that not all reach
std::vector<Fault> warp_faults();            ///< words of a warp that not all reach
std::vector<Fault> lock_faults();            ///< threads that spin for ever
std::vector<Fault> launch_faults();          ///< more shared memory than there is
std::vector<Fault> template_sweep_faults();  ///< S7: each parameter of a template
}  // namespace on_checked_simulator

/// All of them for a device's target, in the order of the page docs/simulator_checks.md.
/// \throws Error  if the kernels were not built for it
std::vector<Fault> meeting_faults_of(const Device& device);

}  // namespace pagelab
