/// \file
/// Kernels whose threads never meet, and their sound twins, which do: barriers and words of a warp that
/// not all reach, and locks that nobody gives back. As those of tests/simulator/faults, they are plain
/// CUDA.
#pragma once

#include <vector>

#include "tests/simulator/faults/faults.h"

namespace pagelab {

namespace on_cuda {
std::vector<Fault> barrier_faults();  ///< __syncthreads that not all threads reach, by nvcc
std::vector<Fault> warp_faults();     ///< words of a warp that not all lanes reach, by nvcc
std::vector<Fault> lock_faults();     ///< threads that spin for ever, by nvcc
std::vector<Fault>
template_sweep_faults();  ///< S7: a template with each of its parameters, by nvcc
}  // namespace on_cuda

namespace on_simulator {
std::vector<Fault> barrier_faults();         ///< __syncthreads that not all threads reach
std::vector<Fault> warp_faults();            ///< words of a warp that not all lanes reach
std::vector<Fault> lock_faults();            ///< threads that spin for ever
std::vector<Fault> template_sweep_faults();  ///< S7: a template with each of its parameters
}  // namespace on_simulator

namespace on_checked_simulator {
std::vector<Fault> barrier_faults();  ///< __syncthreads that not all threads reach, checked
std::vector<Fault> warp_faults();     ///< words of a warp that not all lanes reach, checked
std::vector<Fault> lock_faults();     ///< threads that spin for ever, checked
std::vector<Fault>
template_sweep_faults();  ///< S7: a template with each of its parameters, checked
}  // namespace on_checked_simulator

}  // namespace pagelab
