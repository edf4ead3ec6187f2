/// \file
/// 2^x for the weights of a softmax, where x is at most about 0: the bits of exact_exp2 in fewer
/// instructions. A kernel that multiplies on tensor cores waits for its exponentials; it has no time to ask
/// each argument what it is.
#pragma once

#include "reference/numerics/float_formats.h"
#include "reference/numerics/target.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// 2^x of several numbers of at most 1, each step for all of them before the next one: a number's steps wait
/// for each other, and a GPU computes another number's meanwhile, if its compiler finds one.
/// From −126 on the bits are those of exact_exp2; below, down to −126.5, the result is subnormal, where
/// exact_exp2 has 0; below that it is 0. NaN gives a NaN of any bits. Nothing is converted from float to integer,
/// which a GPU does at an eighth of the rate of an addition.
/// \tparam kCount  how many
/// \param x        up to 1; −∞ gives 0. Then 2^x within kExactExp2Ulps
template <int kCount>
PAGELAB_HD inline void softmax_exp2(float (&x)[kCount]) {
  // Step 1: 2^x = 2^n · 2^f, as in exact_exp2. The lowest bits of `shifted` are those of n.
  const float round_to_integer = 12582912.0f;
  float shifted[kCount];
  float f[kCount];
  for (int i = 0; i < kCount; ++i) {
    // Written so that NaN stays NaN: it is not less than anything.
    const float bounded = x[i] < -127.0f ? -127.0f : x[i];
    shifted[i] = bounded + round_to_integer;
    f[i] = bounded - (shifted[i] - round_to_integer);
  }

  // Step 2: the polynomial of exact_exp2.
  constexpr float kCoefficients[] = {0x1.5f0a66p-10f, 0x1.3b30b0p-7f, 0x1.c6af78p-5f,
                                     0x1.ebfbd8p-3f,  0x1.62e430p-1f, 1.0f};
  float p[kCount];
  for (int i = 0; i < kCount; ++i) p[i] = 0x1.3f906cp-13f;
  for (const float coefficient : kCoefficients) {
    for (int i = 0; i < kCount; ++i) p[i] = fmaf(p[i], f[i], coefficient);
  }

  // Step 3: times 2^n, whose exponent field is n + 127: for n = −127 that is the number 0. A product, and not
  // a sum of exponents, because p may be NaN.
  for (int i = 0; i < kCount; ++i) {
    const float power = float_from_bits((bits_of(shifted[i]) << 23) + 0x3f800000u);
    x[i] = p[i] * power;
  }
}

/// 2^x of one number.
/// \param x  as above
/// \returns  2^x
PAGELAB_HD inline float softmax_exp2(float x) {
  float result[1] = {x};
  softmax_exp2(result);
  return result[0];
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
