/// \file
/// The four functions of exact_math.h as a table: what is called, what it is compared with, and the
/// error it may have.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "reference/numerics/exact_math.h"

namespace pagelab::test {

/// One function under test.
struct ExactFunction {
  std::string name;             ///< as in exact_math.h
  float (*exact)(float);        ///< the function under test
  double (*in_double)(double);  ///< the same function in double, from libm
  double allowed_ulps;          ///< stated error
  float smallest_argument;      ///< below it the function differs from libm on purpose
};

/// All four. Below −126 exact_exp2 is 0, where 2^x is subnormal or smaller.
inline std::array<ExactFunction, 4> exact_functions() {
  const float no_limit = -INFINITY;
  return {{
      {"exact_exp2", [](float x) { return exact_exp2(x); }, [](double x) { return std::exp2(x); },
       kExactExp2Ulps, -126.0f},
      {"exact_log2", [](float x) { return exact_log2(x); }, [](double x) { return std::log2(x); },
       kExactLog2Ulps, no_limit},
      {"exact_log", [](float x) { return exact_log(x); }, [](double x) { return std::log(x); },
       kExactLogUlps, no_limit},
      {"exact_tanh", [](float x) { return exact_tanh(x); }, [](double x) { return std::tanh(x); },
       kExactTanhUlps, no_limit},
  }};
}

/// Distance of `got` from `wanted`, in units of the distance between the floats around `wanted`.
/// The double `wanted` is itself off by about 2^-29 of that unit.
/// \returns  0 if both are NaN or the same infinity; infinity if only one is
inline double error_in_ulps(float got, double wanted) {
  if (std::isnan(wanted)) return std::isnan(got) ? 0.0 : INFINITY;
  const float rounded = static_cast<float>(wanted);
  if (std::isinf(rounded)) return got == rounded ? 0.0 : INFINITY;
  // The exponent field of a double, held at that of the smallest normal float.
  const std::uint64_t field = (bits_of(wanted) >> 52) & 0x7ff;
  const std::uint64_t held = field < 1023 - 126 ? 1023 - 126 : field;
  const double ulp = double_from_bits((held - 23) << 52);
  const double error = std::fabs(static_cast<double>(got) - wanted);
  return error / ulp;
}

}  // namespace pagelab::test
