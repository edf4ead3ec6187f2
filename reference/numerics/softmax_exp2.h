/// \file
/// 2^x for the weights of a softmax, where x is at most about 0: the bits of exact_exp2 in fewer
/// instructions. A kernel that multiplies on tensor cores waits for its exponentials; it has no time to ask
/// each argument what it is.
#pragma once

#include "reference/numerics/float_formats.h"
#include "reference/numerics/target.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// 2^x, for x of at most 1. From −126 on the bits are those of exact_exp2; below, down to −126.5, the result
/// is subnormal, where exact_exp2 has 0; below that it is 0. NaN gives a NaN of any bits.
/// Nothing is converted from float to integer, which a GPU does at an eighth of the rate of an addition.
/// \param x  up to 1; −∞ gives 0
/// \returns  2^x within kExactExp2Ulps
PAGELAB_HD inline float softmax_exp2(float x) {
  // Written so that NaN stays NaN: it is not less than anything.
  const float bounded = x < -127.0f ? -127.0f : x;

  // Step 1: 2^x = 2^n · 2^f, as in exact_exp2. The lowest bits of `shifted` are those of n.
  const float round_to_integer = 12582912.0f;
  const float shifted = bounded + round_to_integer;
  const float n = shifted - round_to_integer;
  const float f = bounded - n;

  // Step 2: the polynomial of exact_exp2.
  float p = 0x1.3f906cp-13f;
  p = fmaf(p, f, 0x1.5f0a66p-10f);
  p = fmaf(p, f, 0x1.3b30b0p-7f);
  p = fmaf(p, f, 0x1.c6af78p-5f);
  p = fmaf(p, f, 0x1.ebfbd8p-3f);
  p = fmaf(p, f, 0x1.62e430p-1f);
  p = fmaf(p, f, 1.0f);

  // Step 3: times 2^n, whose exponent field is n + 127: for n = −127 that is the number 0. A product, and not
  // a sum of exponents, because p may be NaN.
  const float power = float_from_bits((bits_of(shifted) << 23) + 0x3f800000u);
  return p * power;
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
