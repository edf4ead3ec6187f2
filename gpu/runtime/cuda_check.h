/// \file
/// What becomes of an error that a CUDA call returns. For the sources of this folder that are compiled only where there is
/// a CUDA toolkit.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "gpu/device/last_launch.h"
#include "reference/contract/error.h"

namespace pagelab {

/// Work is asynchronous: the call that fails may be an innocent one after the culprit, so the message names the kernel
/// that was launched last.
/// \param status  what the call returned
/// \param call    its name, and what it was asked for
/// \throws Error  unless it succeeded
inline void check(cudaError_t status, const std::string& call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // CUDA remembers an error until it is asked; the next launch would report it
  std::string sentence = call + " failed: " + cudaGetErrorString(status);
  if (last_launch.kernel != nullptr) {
    sentence += "; the last launch before it was " + to_string(last_launch);
  }
  throw Error(sentence + ".");
}

}  // namespace pagelab
