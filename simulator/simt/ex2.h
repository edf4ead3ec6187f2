/// \file
/// `ex2.approx.ftz.f32`: 2^x by the special-function unit of an H200, with its bits. It is a piece of a parabola read
/// from a table of 64 rows. docs/ex2.md says how that was found out.
#pragma once

namespace pagelab::simt {

/// 2^x as the instruction computes it.
/// \param x  any float
/// \returns  within 2.06 ulp; exactly 2^x for whole numbers of −126 to 127; +∞ from 128 on; +0 below −126;
///           0x7fffffff for NaN
/// \source   rules and table measured on an H200, where all 2^32 floats agree
///           (docs/measurements/2026-11-30-h200-ex2.txt); Oberman and Siu, "A High-Performance
///           Area-Efficient Multifunction Interpolator" (ARITH 2005), describe such a unit
float ex2_approx_ftz(float x);

}  // namespace pagelab::simt
