/// \file
/// The word `launch`: runs a kernel on a grid of thread blocks, on the GPU or in the simulator.
///
///     launch("cache_write/1_naive", grid, cta, cache_write_naive<float, float>, params);
///
/// Abstracted: on the GPU a launch returns before the kernel has run, and errors of the kernel show
/// at a later call (Device::synchronize, a copy); in the simulator the kernel has run when the
/// launch returns, and its errors are thrown there. While a graph is recorded (launch_recorder.h),
/// nothing runs on either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "gpu/device/keywords.h"
#include "gpu/device/launch_recorder.h"
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

/// Thread blocks of a one-dimensional grid that has a thread for each of so many things.
/// \param num_threads      1 or more
/// \param threads_per_cta  threads of a thread block
/// \throws Error           if a grid cannot have that many
inline unsigned int ctas_for(std::int64_t num_threads, unsigned int threads_per_cta) {
  constexpr std::int64_t kMaxCtas = 2147483647;
  const std::int64_t num_ctas = (num_threads + threads_per_cta - 1) / threads_per_cta;
  if (num_ctas > kMaxCtas) {
    throw Error(std::to_string(num_threads) + " threads need " + std::to_string(num_ctas) +
                " thread blocks of " + std::to_string(threads_per_cta) +
                ", but a grid has at most " + std::to_string(kMaxCtas) + ".");
  }
  return static_cast<unsigned int>(num_ctas);
}

/// Throws if there is no kernel.
/// \param name    of the kernel
/// \param exists  whether its pointer is one
/// \throws Error  naming it
inline void require_kernel(const char* name, bool exists) {
  if (exists) return;
  throw Error(std::string("kernel ") + name + " is a null pointer: there is nothing to launch.");
}

/// A launch in the form in which it is recorded.
template <typename Params>
LaunchCall call_of(const char* name,
                   dim3 grid,
                   dim3 cta,
                   void (*kernel)(Params),
                   const Params& params,
                   std::size_t shared_bytes) {
  return {name,
          {grid.x, grid.y, grid.z},
          {cta.x, cta.y, cta.z},
          shared_bytes,
          &params,
          sizeof(Params),
          reinterpret_cast<void (*)()>(kernel)};
}

#if defined(__CUDACC__)

// On the GPU: CUDA's own launch, `kernel<<<grid, cta>>>(params)`, and the question whether it was
// accepted.
template <typename Params>
void launch(const char* name,
            dim3 grid,
            dim3 cta,
            void (*kernel)(Params),
            const Params& params,
            std::size_t shared_bytes = 0) {
  require_kernel(name, kernel != nullptr);
  last_launch = {name, {grid.x, grid.y, grid.z}, {cta.x, cta.y, cta.z}};
  // Together with static arrays, more than 48 KiB must be allowed; how much those have is not known here.
  if (shared_bytes > 0) {
    const cudaError_t allowed = cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                                     cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                     static_cast<int>(shared_bytes));
    if (allowed != cudaSuccess) {
      throw Error(
          to_string(last_launch) + ": " + std::to_string(shared_bytes) +
          " bytes of dynamic shared memory are not allowed: " + cudaGetErrorString(allowed) + ".");
    }
  }
  cudaStream_t stream = nullptr;
  if (launch_recorder != nullptr) {
    launch_recorder->record(call_of(name, grid, cta, kernel, params, shared_bytes));
    stream = static_cast<cudaStream_t>(launch_recorder->stream());
  }
  kernel<<<grid, cta, shared_bytes, stream>>>(params);
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) {
    throw Error(to_string(last_launch) + ": the launch failed: " + cudaGetErrorString(status) +
                ".");
  }
}

#else

/// What the simulator wants to know of a launch.
inline simt::LaunchConfig config_of(const LaunchCall& call) {
#if defined(PAGELAB_CHECKED)
  constexpr simt::Checks kChecks = simt::Checks::kOn;
#else
  constexpr simt::Checks kChecks = simt::Checks::kOff;
#endif
  const dim3 grid(call.grid[0], call.grid[1], call.grid[2]);
  const dim3 cta(call.cta[0], call.cta[1], call.cta[2]);
  return {call.kernel, grid, cta, call.shared_bytes, kChecks};
}

/// Runs a kernel for a launch, at once or, if it was recorded, later.
template <typename Params>
void run_call(const LaunchCall& call) {
  const auto kernel = reinterpret_cast<void (*)(Params)>(call.function);
  const Params& params = *static_cast<const Params*>(call.params);
  simt::launch(config_of(call), [&] { kernel(params); });
}

/// Runs a kernel once for each thread. On the GPU (above) this is `kernel<<<grid, cta>>>(params)`; in the
/// simulator the kernel is a function, called once for each thread.
/// \param name    of the kernel, for messages
/// \param grid    thread blocks
/// \param cta     threads of a thread block
/// \param kernel  a `__global__` function
/// \param params  all that it gets, by value
/// \param shared_bytes  of dynamic shared memory (shared_memory.h)
/// \throws Error  if there is no kernel or the launch is refused; in the simulator also if the kernel does something wrong
template <typename Params>
void launch(const char* name,
            dim3 grid,
            dim3 cta,
            void (*kernel)(Params),
            const Params& params,
            std::size_t shared_bytes = 0) {
  require_kernel(name, kernel != nullptr);
  LaunchCall call = call_of(name, grid, cta, kernel, params, shared_bytes);
  call.run = &run_call<Params>;
  try {
    if (launch_recorder == nullptr) {
      call.run(call);
    } else {
      simt::check_launch_limits(config_of(call));
      launch_recorder->record(call);
    }
  } catch (const simt::Error& error) {
    throw Error(error.what());
  }
}

#endif

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
