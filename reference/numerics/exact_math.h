/// \file
/// exp2, log2, log and tanh with the same bits on every target. The functions of libm and of CUDA
/// are all accurate, but round differently in one input of ten; these are made of operations that
/// IEEE 754 defines to the last bit (+ − × ÷, fused multiply-add, integers), in one source for CPU,
/// simulator and GPU. Every function has two steps:
///   1. range reduction: an exact identity brings the argument into a short interval around 0,
///      where a polynomial of low degree is as good as the format;
///   2. the polynomial, by Horner's rule in fma: one rounding a step instead of two, and nothing
///      left to the compiler, which may otherwise fuse x * y + c or not as it likes.
/// Results that are NaN are always the NaN that the GPU writes, 0x7fffffff.
/// The stated errors are measured over all 2^32 floats (tests/reference/numerics); one ulp is the
/// distance of neighbouring floats at the true result. reference/numerics/fit_exact_math.py made
/// the coefficients.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "reference/numerics/float_formats.h"
#include "reference/numerics/target.h"

namespace pagelab {

/// log2(e) as a float, what turns e^x into 2^(x · log2 e).
/// A template over the precision writes std::numbers::log2e_v<Real>, which is this for float.
inline constexpr float kLog2E = std::numbers::log2e_v<float>;
/// ln(2) as a float; likewise std::numbers::ln2_v<Real>.
inline constexpr float kLn2 = std::numbers::ln2_v<float>;

// The largest error of each function over all floats, in ulps of the true result (rounded up).
inline constexpr double kExactExp2Ulps = 0.80;  ///< largest error of exact_exp2, in ulps
inline constexpr double kExactLog2Ulps = 0.95;  ///< largest error of exact_log2, in ulps
inline constexpr double kExactLogUlps = 1.79;   ///< largest error of exact_log, in ulps
inline constexpr double kExactTanhUlps = 1.63;  ///< largest error of exact_tanh, in ulps

inline namespace PAGELAB_TARGET {

/// a · b + c with one rounding.
PAGELAB_HD inline float fused_multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
/// a · b + c with one rounding, in double.
PAGELAB_HD inline double fused_multiply_add(double a, double b, double c) { return fma(a, b, c); }

/// 2^x, for softmax weights: 2^0 is exactly 1, and no result is subnormal.
/// Differs: below −126 (where 2^x is subnormal) the result is 0.
/// \param x  any float; from 128 on the result is +∞
/// \returns  2^x within kExactExp2Ulps; NaN for NaN
PAGELAB_HD inline float exact_exp2(float x) {
  // No branches: the ends are put right by selections at the end, so that neighbouring calls can overlap.
  const float below = x < 128.0f ? x : 128.0f;
  const float inside = below > -126.0f ? below : -126.0f;

  // Step 1: 2^x = 2^n · 2^f, with n the nearest integer and f in [−1/2, 1/2]. Floats from 2^23 to
  // 2^24 are the integers, so adding 1.5 · 2^23 rounds x to one. x − n has no rounding error.
  const float round_to_integer = 12582912.0f;
  const float rounded = inside + round_to_integer;
  const float f = inside - (rounded - round_to_integer);

  // Step 2: 2^f = 1 + f · (c1 + f · (c2 + …)). c0 is exactly 1, so whole numbers come out exact.
  float p = 0x1.3f906cp-13f;
  p = fused_multiply_add(p, f, 0x1.5f0a66p-10f);
  p = fused_multiply_add(p, f, 0x1.3b30b0p-7f);
  p = fused_multiply_add(p, f, 0x1.c6af78p-5f);
  p = fused_multiply_add(p, f, 0x1.ebfbd8p-3f);
  p = fused_multiply_add(p, f, 0x1.62e430p-1f);
  p = fused_multiply_add(p, f, 1.0f);

  // Step 3: times 2^n, by adding n to the exponent field. The lowest bits of `rounded` are n: it is n more than a
  // number whose last 22 bits are 0. The sum stays a normal number (where n = −126, f is not negative and
  // p ≥ 1; where n = 128, f is negative and p < 1), or is +∞ (of 128 itself).
  const float power = float_from_bits(bits_of(p) + (bits_of(rounded) << 23));
  const float not_too_small = x < -126.0f ? 0.0f : power;
  return x == x ? not_too_small : canonical_nan(x);
}

/// log2(x), accurate near 1 as well, where the result is near 0.
/// \param x  any float, subnormal ones too; ±0 gives −∞, a negative one NaN, +∞ gives +∞
/// \returns  log2(x) within kExactLog2Ulps
PAGELAB_HD inline float exact_log2(float x) {
  if (x == 0.0f) return float_from_bits(0xff800000u);
  if (!(x > 0.0f)) return float_from_bits(0x7fffffffu);  // negative, or NaN
  if (x == float_from_bits(0x7f800000u)) return x;

  // Step 1: x = 2^n · (1 + f), with 1 + f in [√½, √2). Subnormals are made normal first, by 2^23.
  float scaled = x;
  std::int32_t n = 0;
  if (x < 0x1p-126f) {
    scaled = x * 0x1p23f;
    n = -23;
  }
  // The distance of the bits from those of √½ (0x3f3504f3) counts whole powers of two in its upper
  // part. Shifting a negative number right rounds down, as it should.
  const std::uint32_t bits = bits_of(scaled);
  const std::int32_t powers = static_cast<std::int32_t>(bits - 0x3f3504f3u) >> 23;
  const float significand = float_from_bits(bits - (static_cast<std::uint32_t>(powers) << 23));
  n = n + powers;
  const float f = significand - 1.0f;  // exact: both are within a factor of two

  // Step 2: log2(1 + f) = f · log2(e) + f² · (c2 + f · (c3 + …)).
  float p = -0x1.baabaap-4f;
  p = fused_multiply_add(p, f, 0x1.7b9ceap-3f);
  p = fused_multiply_add(p, f, -0x1.881186p-3f);
  p = fused_multiply_add(p, f, 0x1.a35476p-3f);
  p = fused_multiply_add(p, f, -0x1.eaac80p-3f);
  p = fused_multiply_add(p, f, 0x1.277bfap-2f);
  p = fused_multiply_add(p, f, -0x1.715acap-2f);
  p = fused_multiply_add(p, f, 0x1.ec70a0p-2f);
  p = fused_multiply_add(p, f, -0x1.715470p-1f);
  // log2(e) = kLog2E + 1.9e-8: near 1, where f · log2(e) is nearly all, the float alone would cost
  // a quarter of an ulp.
  const float log2e_low = 0x1.4ae0c0p-26f;
  const float small_terms = f * fused_multiply_add(p, f, log2e_low);
  const float log2_significand = fused_multiply_add(f, kLog2E, small_terms);

  // Step 3: add the whole powers.
  return static_cast<float>(n) + log2_significand;
}

/// ln(x) = log2(x) · ln(2); relatively accurate near 1, like exact_log2.
/// \param x  any float; ±0 gives −∞, a negative one NaN, +∞ gives +∞
/// \returns  ln(x) within kExactLogUlps
PAGELAB_HD inline float exact_log(float x) {
  const float log2_x = exact_log2(x);
  return canonical_nan(log2_x * kLn2);
}

/// tanh(x), odd, and relatively accurate for small x.
/// \param x  any float; tanh(±0) = ±0, and from about ±9.01 on the result is ±1
/// \returns  tanh(x) within kExactTanhUlps; NaN for NaN
PAGELAB_HD inline float exact_tanh(float x) {
  if (x != x) return canonical_nan(x);
  const std::uint32_t sign = bits_of(x) & 0x80000000u;
  const float a = float_from_bits(bits_of(x) ^ sign);  // |x|

  float t;  // tanh(a)
  if (a < 0.625f) {
    // tanh(a) = a + a · z · P(z), z = a²: for small a the first term is all of it.
    const float z = a * a;
    float p = -0x1.77307ap-8f;
    p = fused_multiply_add(p, z, 0x1.527aa2p-6f);
    p = fused_multiply_add(p, z, -0x1.b84b26p-5f);
    p = fused_multiply_add(p, z, 0x1.1107aep-3f);
    p = fused_multiply_add(p, z, -0x1.555536p-2f);
    t = fused_multiply_add(a, z * p, a);
  } else if (a < 10.0f) {
    // tanh(a) = 1 − 2 / (e^2a + 1): nothing cancels here, because the quotient is below 1/2.
    const float exp_2a = exact_exp2(a * (2.0f * kLog2E));
    t = 1.0f - 2.0f / (exp_2a + 1.0f);
  } else {
    t = 1.0f;  // 1 − tanh(10) is 2^-28, less than half an ulp of 1
  }
  return float_from_bits(bits_of(t) | sign);
}

/// 2^x for the reference in double (host only), so that one template reads the same in both
/// precisions.
inline double exact_exp2(double x) { return std::exp2(x); }
/// log2(x) in double (host only).
inline double exact_log2(double x) { return std::log2(x); }
/// ln(x) in double (host only).
inline double exact_log(double x) { return std::log(x); }
/// tanh(x) in double (host only).
inline double exact_tanh(double x) { return std::tanh(x); }

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
