/// \file
/// The word `launch`: runs a kernel on a grid of thread blocks, on the GPU or in the simulator.
///
///     launch("cache_write/1_naive", grid, cta, cache_write_naive<float, float>, params);
///
/// Abstracted: on the GPU a launch returns before the kernel has run, and errors of the kernel show
/// at a later call (Device::synchronize, a copy); in the simulator the kernel has run when the
/// launch returns, and its errors are thrown there.
#pragma once

#include <string>

#include "gpu/device/keywords.h"
#include "reference/contract/error.h"
#include "reference/numerics/target.h"

#if defined(__CUDACC__)
#include <cuda_runtime.h>

#include "gpu/device/last_launch.h"
#else
#include "simulator/simt/error.h"
#include "simulator/simt/launch.h"
#endif

namespace pagelab {
inline namespace PAGELAB_TARGET {

#if defined(__CUDACC__)

// On the GPU: CUDA's own launch, `kernel<<<grid, cta>>>(params)`, and the question whether it was
// accepted.
template <typename Params>
void launch(const char* name, dim3 grid, dim3 cta, void (*kernel)(Params), const Params& params) {
  last_launch = {name, {grid.x, grid.y, grid.z}, {cta.x, cta.y, cta.z}};
  kernel<<<grid, cta>>>(params);
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) {
    throw Error(to_string(last_launch) + ": the launch failed: " + cudaGetErrorString(status) +
                ".");
  }
}

#else

// In the simulator: the kernel is a function, called once for each thread.
template <typename Params>
void launch(const char* name, dim3 grid, dim3 cta, void (*kernel)(Params), const Params& params) {
  try {
    simt::launch({name, grid, cta}, [&] { kernel(params); });
  } catch (const simt::Error& error) {
    throw Error(error.what());
  }
}

#endif

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
