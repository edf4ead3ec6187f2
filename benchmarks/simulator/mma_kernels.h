/// \file
/// A kernel that does nothing but multiply on the tensor cores, for the price of a simulated mma.
#pragma once

namespace pagelab {

/// How many warps multiply how often.
struct MmaRoundsParams {
  unsigned int ctas = 1;      ///< thread blocks
  unsigned int threads = 32;  ///< of a thread block, a multiple of 32
  int rounds = 1;             ///< mma.m16n8k16 of bfloat16 numbers, one after the other
  float* sums = nullptr;      ///< [ctas, threads] device; one element of each lane's last D
};

namespace on_simulator {
/// Runs the kernel, compiled for speed.
void launch_mma_rounds(const MmaRoundsParams& params);
}  // namespace on_simulator

namespace on_checked_simulator {
/// Runs the kernel with every access checked.
void launch_mma_rounds(const MmaRoundsParams& params);
}  // namespace on_checked_simulator

}  // namespace pagelab
