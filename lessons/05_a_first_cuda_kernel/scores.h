/// \file
/// What the kernel of scores.cuh gets, and the functions that launch it, one for each target: the
/// same source is compiled for the simulator, for the checked simulator and, where there is nvcc,
/// for the GPU.
#pragma once

#include "lessons/05_a_first_cuda_kernel/sizes.h"

namespace pagelab::lesson_05 {

/// The scores of one query against all keys. Plain data, passed by value; pointers are addresses in
/// the memory of the device.
struct ScoresParams {
  const float* query;  ///< [head_size]
  const float* keys;   ///< [num_keys, head_size]
  float* scores;       ///< [num_keys]
  int num_keys;        ///< 1 or more
  int head_size;       ///< elements of the query and of each key
  float scale;         ///< factor on the dot product
};

namespace on_simulator {
/// Runs the kernel on a CPU, compiled for speed.
void launch_scores(const ScoresParams& params);
}  // namespace on_simulator

namespace on_checked_simulator {
/// Runs the kernel on a CPU, with every access checked.
void launch_scores(const ScoresParams& params);
}  // namespace on_checked_simulator

namespace on_cuda {
/// Runs the kernel on a GPU. Linked only where there was nvcc.
void launch_scores(const ScoresParams& params);
}  // namespace on_cuda

}  // namespace pagelab::lesson_05
