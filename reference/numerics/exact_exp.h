/// \file
/// e^x in double with the same bits on every target, made like the functions of exact_math.h: an exact range
/// reduction, then a polynomial in fma. The exponentials of libm and of CUDA are both within an ulp, but not
/// the same; a model that runs on the CPU and on a GPU would differ by that in every layer.
#pragma once

#include <cstdint>

#include "reference/numerics/exact_math.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// 2^n as a double, exactly.
/// \param n  from −1022 to 1023: what a normal number's exponent may be
PAGELAB_HD inline double power_of_two(std::int64_t n) {
  // The exponent's field is 11 bits above the 52 of the significand, and holds n + 1023.
  return double_from_bits(static_cast<std::uint64_t>(n + 1023) << 52);
}

/// e^x. Differs: below −708, where e^x leaves the normal numbers, the result is 0.
/// \param x  any double; from 709 on the result is +∞, though e^709 is still a double
/// \returns  e^x within an ulp (tests/reference/numerics); NaN for NaN
PAGELAB_HD inline double exact_exp(double x) {
  if (!(x >= -708.0)) return x != x ? x : 0.0;
  if (x >= 709.0) return double_from_bits(std::uint64_t{0x7ff} << 52);

  // Step 1: e^x = 2^n · e^r, with n the nearest integer to x · log2(e) and |r| ≤ ln(2)/2 = 0.347. Doubles from 2^52
  // to 2^53 are the integers, so adding 1.5 · 2^52 rounds to one. ln(2) is subtracted in two parts: the upper
  // one ends in 11 zero bits, so that n times it is exact.
  const double log2_e = 0x1.71547652b82fep+0;
  const double ln2_high = 0x1.62e42fefa3800p-1;
  const double ln2_low = 0x1.ef35793c76730p-45;
  const double round_to_integer = 6755399441055744.0;
  const double n = fused_multiply_add(x, log2_e, round_to_integer) - round_to_integer;
  const double r = fused_multiply_add(-n, ln2_low, fused_multiply_add(-n, ln2_high, x));

  // Step 2: e^r by its own series, 1 + r + r²/2! + …, to r^13/13!. What is left out is below
  // 0.347^14/14! = 4.2e-18, a twenty-fifth of the last bit of 1.
  double p = 1.0 / 6227020800.0;
  p = fused_multiply_add(p, r, 1.0 / 479001600.0);
  p = fused_multiply_add(p, r, 1.0 / 39916800.0);
  p = fused_multiply_add(p, r, 1.0 / 3628800.0);
  p = fused_multiply_add(p, r, 1.0 / 362880.0);
  p = fused_multiply_add(p, r, 1.0 / 40320.0);
  p = fused_multiply_add(p, r, 1.0 / 5040.0);
  p = fused_multiply_add(p, r, 1.0 / 720.0);
  p = fused_multiply_add(p, r, 1.0 / 120.0);
  p = fused_multiply_add(p, r, 1.0 / 24.0);
  p = fused_multiply_add(p, r, 1.0 / 6.0);
  p = fused_multiply_add(p, r, 0.5);
  p = fused_multiply_add(p, r, 1.0);
  p = fused_multiply_add(p, r, 1.0);

  // Step 3: times 2^n, which is exact.
  return p * power_of_two(static_cast<std::int64_t>(n));
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
