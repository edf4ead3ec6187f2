/// \file
/// The words of CUDA that a kernel without barriers uses, for a C++ compiler that does not know
/// them. Kernels include it through gpu/device/keywords.h; nvcc never sees it.
///
/// Abstracted: every function runs on the CPU, so the marks that say where a function runs mean
/// nothing here. Not there yet: `__shared__` and `__syncthreads`; a kernel that uses them does not
/// compile for this simulator.
#pragma once

#include "simulator/simt/dim3.h"

/// Runs on the GPU, launched from the host.
#define __global__
/// Runs on the GPU, called from there.
#define __device__
/// Runs on the host.
#define __host__
/// Inlined even where the compiler would rather not.
#define __forceinline__ inline __attribute__((always_inline))

// NOLINTBEGIN(google-global-names-in-headers): in CUDA these names are global.
using pagelab::simt::blockDim;
using pagelab::simt::blockIdx;
using pagelab::simt::dim3;
using pagelab::simt::gridDim;
using pagelab::simt::threadIdx;
using pagelab::simt::uint3;
// NOLINTEND(google-global-names-in-headers)
