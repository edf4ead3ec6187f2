/// \file
/// The kernels of faults.cuh by name. They are compiled for the checked simulator alone: on a GPU most
/// of these faults would pass in silence.
#pragma once

#include <vector>

namespace pagelab::lesson_05 {

/// Elements of the two arrays that every faulty kernel gets.
inline constexpr int kFaultCount = 200;

/// What they get. Pointers are addresses in the memory of the device.
struct FaultParams {
  const float* in;  ///< [count]
  float* out;       ///< [count] never written before the launch
  int count;        ///< kFaultCount
};

/// A kernel that does one thing wrong, or a launch that cannot be.
struct Fault {
  const char* name;             ///< "race"
  void (*kernel)(FaultParams);  ///< what is launched
  int threads_per_cta;          ///< on two thread blocks of so many threads
};

namespace on_checked_simulator {
/// All of them, in the order of the text.
std::vector<Fault> faults();
/// Launches one.
/// \throws Error  with what the simulator says to it
void launch_fault(const Fault& fault, const FaultParams& params);
}  // namespace on_checked_simulator

}  // namespace pagelab::lesson_05
