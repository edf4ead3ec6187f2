/// \file
/// `ex2.approx`: 2^x by the GPU's special-function unit, one instruction where exact_exp2 takes fourteen. Its
/// result is up to 2.06 ulp off, which is nothing beside the 2^-8 that rounding a weight to bfloat16 costs.
///
/// Abstracted in the simulator: nothing; its bits are those of an H200 (simulator/simt/ex2.h). Whether older or
/// newer GPUs have the same table is not known.
///
/// Source: PTX ISA, "Floating Point Instructions: ex2".
#pragma once

#include "gpu/device/keywords.h"
#include "reference/numerics/target.h"

#if !defined(__CUDACC__)
#include "simulator/simt/ex2.h"
#endif

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// 2^x within kEx2ApproxUlps; +0 below −126, and NaN for NaN.
/// \param x  any float
__device__ __forceinline__ float ex2_approx(float x) {
#if defined(__CUDACC__)
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  return simt::ex2_approx_ftz(x);
#endif
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
