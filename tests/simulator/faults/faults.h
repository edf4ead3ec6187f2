/// \file
/// Small kernels with exactly one fault each, and their sound twins, which differ in that alone. They
/// are plain CUDA, so that compute-sanitizer can be pointed at the same faults on a GPU
/// (docs/simulator_checks.md).
#pragma once

#include <vector>

namespace pagelab {

/// What every fault kernel is handed. All arrays are there for all of them.
struct FaultParams {
  float* x = nullptr;              ///< [8] 1, 2, … 8
  float* y = nullptr;              ///< [64] zeros
  float* small = nullptr;          ///< [4] zeros
  float* unwritten = nullptr;      ///< [8] never written
  float* freed = nullptr;          ///< [8] freed before the launch
  float* missing = nullptr;        ///< a null pointer
  unsigned char* bytes = nullptr;  ///< [8] zeros
  int* count = nullptr;            ///< [1] zero
};

/// A fault.
struct Fault {
  const char* name;                           ///< of the kernel
  void (*launch)(const FaultParams& params);  ///< makes the mistake
  void (*launch_sound)(const FaultParams&);   ///< does not
};

namespace on_cuda {
std::vector<Fault> access_faults();         ///< bytes that may not be touched, compiled by nvcc
std::vector<Fault> race_faults();           ///< races, compiled by nvcc
std::vector<Fault> warp_and_copy_faults();  ///< races within a warp and with cp.async, by nvcc
}  // namespace on_cuda

namespace on_checked_simulator {
std::vector<Fault> access_faults();         ///< bytes that may not be touched, with the checks
std::vector<Fault> race_faults();           ///< races, with the checks
std::vector<Fault> warp_and_copy_faults();  ///< races within a warp and with cp.async, checked
}  // namespace on_checked_simulator

}  // namespace pagelab
