/// \file
/// What the kernel of fragments.cuh gets, and the functions that launch it.
#pragma once

#include <cstdint>

#include "reference/numerics/target.h"

namespace pagelab::lesson_07 {

// Each compiler's copies of the kernels lie in a namespace of their own. It is an inline one, which has to
// be said where it is first named.
inline namespace PAGELAB_TARGET {}

/// A tile of 16 rows of 64 elements of 16 bits: queries or keys, head 64.
struct FragmentsParams {
  const std::uint16_t* tile;  ///< [16, 64], at a multiple of 16 bytes
  std::uint32_t* registers;   ///< [4, 32, 4] of each 16 columns, lane and register two elements
  bool is_swizzled;           ///< whether chunk c of row r lies in place c xor (r mod 8)
};

namespace on_simulator {
/// Runs the kernel on a CPU, compiled for speed.
void launch_fragments(const FragmentsParams& params);
}  // namespace on_simulator

namespace on_checked_simulator {
/// Runs the kernel on a CPU, with every access checked and counted.
void launch_fragments(const FragmentsParams& params);
}  // namespace on_checked_simulator

namespace on_cuda {
/// Runs the kernel on a GPU. Linked only where there was nvcc.
void launch_fragments(const FragmentsParams& params);
}  // namespace on_cuda

}  // namespace pagelab::lesson_07
