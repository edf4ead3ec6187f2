// ex2.approx in the simulator: what its documentation promises, and what was measured on an H200. That all its bits
// are the H200's is asserted by tests/gpu/exact_math_test.cpp, by hashes.

#include "simulator/simt/ex2.h"

#include <doctest/doctest.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>

#include "reference/numerics/precision.h"

using pagelab::simt::ex2_approx_ftz;

namespace {

std::uint32_t bits_of_ex2(float x) { return std::bit_cast<std::uint32_t>(ex2_approx_ftz(x)); }

// The error in units of the last place of the float nearest to 2^x.
double ulps_off(float x) {
  const double exact = std::exp2(static_cast<double>(x));
  const double ulp = std::ldexp(1.0, std::ilogb(exact) - 23);
  return std::fabs(static_cast<double>(ex2_approx_ftz(x)) - exact) / ulp;
}

}  // namespace

TEST_SUITE("ex2") {
  TEST_CASE("ex2 of a whole number is exactly its power of two") {
    for (int n = -126; n <= 127; ++n) {
      CAPTURE(n);
      CHECK(ex2_approx_ftz(static_cast<float>(n)) == std::ldexp(1.0f, n));
    }
    CHECK(ex2_approx_ftz(-0.0f) == 1.0f);
    CHECK(ex2_approx_ftz(-FLT_TRUE_MIN) == 1.0f);
  }

  TEST_CASE("ex2 beyond the range of floats is 0 or infinity and of NaN the canonical one") {
    CHECK(bits_of_ex2(std::nextafter(-126.0f, -200.0f)) == 0u);
    CHECK(bits_of_ex2(-INFINITY) == 0u);
    CHECK(bits_of_ex2(128.0f) == 0x7f800000u);
    CHECK(bits_of_ex2(INFINITY) == 0x7f800000u);
    for (std::uint32_t nan : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff80deadu}) {
      CHECK(bits_of_ex2(std::bit_cast<float>(nan)) == 0x7fffffffu);
    }
  }

  TEST_CASE("ex2 gives what an H200 gave") {
    // x = −1 − i · 2^-23 for i = 1, 2, 3, 8, 32: printed there (docs/measurements/2026-11-30-h200-ex2.txt). The
    // nearest floats to 2^x would be 3effffff, 3efffffd, 3efffffc, 3efffff5 and 3effffd4.
    const std::uint32_t measured[][2] = {
        {1, 0x3efffffe}, {2, 0x3efffffc}, {3, 0x3efffffb}, {8, 0x3efffff4}, {32, 0x3effffd3}};
    for (const auto& [i, bits] : measured) {
      CAPTURE(i);
      CHECK(bits_of_ex2(-std::bit_cast<float>(0x3f800000u | i)) == bits);
    }
  }

  TEST_CASE("ex2 is off by at most kEx2ApproxUlps") {
    double largest = 0.0;
    // Every 1009th float: of all signs, exponents and last places.
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 1009) {
      const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      if (!(x >= -126.0f && x < 128.0f)) continue;
      largest = std::max(largest, ulps_off(x));
    }
    CHECK(largest <= pagelab::kEx2ApproxUlps);
    CHECK(largest > 0.5 * pagelab::kEx2ApproxUlps);
  }
}
