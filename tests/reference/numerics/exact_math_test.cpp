#include "reference/numerics/exact_math.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cfloat>
#include <random>

#include "reference/numerics/exact_exp.h"
#include "tests/reference/numerics/exact_functions.h"
#include "tests/reference/numerics/golden_hashes.h"
#include "tests/support/bit_hash.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

constexpr std::uint32_t kNaNBits = 0x7fffffffu;
constexpr std::uint32_t kInfinityBits = 0x7f800000u;
constexpr std::uint32_t kMinusInfinityBits = 0xff800000u;

// NaNs of both signs, quiet and signalling.
constexpr std::uint32_t kNaNs[] = {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff80dead, 0x7fffffffu};

}  // namespace

TEST_SUITE("exact_math") {
  TEST_CASE("exact_exp2 of a whole number is that power of two") {
    for (int n = -126; n <= 127; ++n) {
      CHECK(exact_exp2(static_cast<float>(n)) == std::ldexp(1.0f, n));
    }
  }

  TEST_CASE("exact_exp2 overflows at 128 and is zero below -126") {
    CHECK(bits_of(exact_exp2(128.0f)) == kInfinityBits);
    CHECK(bits_of(exact_exp2(FLT_MAX)) == kInfinityBits);
    CHECK(bits_of(exact_exp2(INFINITY)) == kInfinityBits);
    // The float before 128 is 128 − 2^-17; 2^-(2^-17) = 1 − 5.288e-6, so the result is
    // 2^128 · (1 − 5.288e-6) = 3.4028057e38.
    CHECK(exact_exp2(std::nextafter(128.0f, 0.0f)) == doctest::Approx(3.4028057e38).epsilon(1e-7));
    CHECK(bits_of(exact_exp2(-126.0f)) == 0x00800000u);
    CHECK(bits_of(exact_exp2(std::nextafter(-126.0f, -200.0f))) == 0u);
    CHECK(bits_of(exact_exp2(-FLT_MAX)) == 0u);
    CHECK(bits_of(exact_exp2(-INFINITY)) == 0u);
  }

  TEST_CASE("exact_exp2 of both zeros and of subnormals is exactly 1") {
    for (float x : {0.0f, -0.0f, FLT_TRUE_MIN, -FLT_TRUE_MIN, FLT_MIN, -FLT_MIN}) {
      CHECK(exact_exp2(x) == 1.0f);
    }
  }

  TEST_CASE("exact_log2 of a power of two is its exponent for subnormals too") {
    for (int n = -149; n <= 127; ++n) {
      CHECK(exact_log2(std::ldexp(1.0f, n)) == static_cast<float>(n));
    }
  }

  TEST_CASE("logarithms of zero and infinity are infinite and of negative numbers NaN") {
    for (float (*logarithm)(float) :
         {+[](float x) { return exact_log2(x); }, +[](float x) { return exact_log(x); }}) {
      CHECK(bits_of(logarithm(0.0f)) == kMinusInfinityBits);
      CHECK(bits_of(logarithm(-0.0f)) == kMinusInfinityBits);
      CHECK(bits_of(logarithm(INFINITY)) == kInfinityBits);
      CHECK(bits_of(logarithm(-FLT_TRUE_MIN)) == kNaNBits);
      CHECK(bits_of(logarithm(-1.0f)) == kNaNBits);
      CHECK(bits_of(logarithm(-INFINITY)) == kNaNBits);
      CHECK(bits_of(logarithm(1.0f)) == 0u);
    }
  }

  TEST_CASE("exact_log is relatively accurate next to 1 where it is next to 0") {
    // ln(1 + x) = x − x²/2 + x³/3 ...; x = 2^-23: 1.1920928e-7 − 7.1e-15.
    CHECK(exact_log(1.0f + FLT_EPSILON) == doctest::Approx(1.1920928244535389e-7).epsilon(2e-7));
    // x = −2^-24: −5.9604645e-8 − 1.8e-15.
    CHECK(exact_log(1.0f - FLT_EPSILON / 2) ==
          doctest::Approx(-5.9604646551623716e-8).epsilon(2e-7));
  }

  TEST_CASE("exact_exp is within an ulp of the exponential and puts the ends right") {
    // An x87 long double has 11 bits more than a double, so its exponential tells ulps of a double from each other.
    std::mt19937_64 random(20261130);
    double largest_error = 0;
    for (int sample = 0; sample < 200000; ++sample) {
      const double unit = static_cast<double>(random()) * 0x1p-64;
      const double x = sample % 2 == 0 ? 1417.0 * unit - 708.0 : 2.0 * unit - 1.0;
      const long double expected = std::exp(static_cast<long double>(x));
      const double nearest = static_cast<double>(expected);
      const long double ulp = std::nextafter(nearest, INFINITY) - nearest;
      const auto error = static_cast<double>(std::abs(exact_exp(x) - expected) / ulp);
      largest_error = std::max(largest_error, error);
    }
    CHECK(largest_error <= 1.0);
    MESSAGE("exact_exp: largest error " << largest_error << " ulp");
    CHECK(exact_exp(0.0) == 1.0);
    CHECK(exact_exp(-0.0) == 1.0);
    CHECK(exact_exp(708.99) == doctest::Approx(std::exp(708.99)).epsilon(1e-15));
    CHECK(exact_exp(709.0) == INFINITY);
    CHECK(exact_exp(INFINITY) == INFINITY);
    CHECK(exact_exp(-707.99) == doctest::Approx(std::exp(-707.99)).epsilon(1e-15));
    CHECK(exact_exp(-708.5) == 0.0);
    CHECK(exact_exp(-INFINITY) == 0.0);
    CHECK(std::isnan(exact_exp(NAN)));
  }

  TEST_CASE("exact_tanh is odd and saturates at 1") {
    for (std::uint64_t bits = 0; bits < kInfinityBits; bits += kSampleStride) {
      const float x = float_from_bits(static_cast<std::uint32_t>(bits));
      REQUIRE(bits_of(exact_tanh(-x)) == (bits_of(exact_tanh(x)) | 0x80000000u));
      REQUIRE(exact_tanh(x) <= 1.0f);
    }
    CHECK(exact_tanh(9.02f) == 1.0f);
    CHECK(exact_tanh(FLT_MAX) == 1.0f);
    CHECK(exact_tanh(INFINITY) == 1.0f);
    CHECK(exact_tanh(-INFINITY) == -1.0f);
  }

  TEST_CASE("exact_tanh of a tiny number is that number with its sign") {
    // tanh(x) = x − x³/3: below 2^-13 the second term is under 2^-27 of the first.
    for (float x : {0.0f, FLT_TRUE_MIN, 3 * FLT_TRUE_MIN, FLT_MIN, 1e-30f, 1e-10f, 1e-4f}) {
      CHECK(bits_of(exact_tanh(x)) == bits_of(x));
      CHECK(bits_of(exact_tanh(-x)) == bits_of(-x));
    }
  }

  TEST_CASE("every function turns every NaN into the one that the GPU writes") {
    for (const ExactFunction& function : exact_functions()) {
      CAPTURE(function.name);
      for (std::uint32_t bits : kNaNs) {
        CHECK(bits_of(function.exact(float_from_bits(bits))) == kNaNBits);
      }
    }
  }

  TEST_CASE("every function stays within its stated error on a sample of all floats") {
    for (const ExactFunction& function : exact_functions()) {
      CAPTURE(function.name);
      for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += 9973) {
        const float x = float_from_bits(static_cast<std::uint32_t>(bits));
        if (x < function.smallest_argument) continue;
        const double error = error_in_ulps(function.exact(x), function.in_double(x));
        CAPTURE(x);
        REQUIRE(error <= function.allowed_ulps);
      }
    }
  }

  TEST_CASE("every function is monotonic across the seams of its range reduction") {
    // At each seam two neighbouring floats are computed by different formulas or with different n.
    for (int n = -125; n <= 127; ++n) {
      const float seam = static_cast<float>(n) + 0.5f;
      CHECK(exact_exp2(std::nextafter(seam, -200.0f)) <= exact_exp2(seam));
      CHECK(exact_exp2(seam) <= exact_exp2(std::nextafter(seam, 200.0f)));
    }
    const float root_half = float_from_bits(0x3f3504f3u);
    CHECK(exact_log2(std::nextafter(root_half, 0.0f)) <= exact_log2(root_half));
    CHECK(exact_log2(root_half) <= exact_log2(std::nextafter(root_half, 1.0f)));
    CHECK(exact_tanh(std::nextafter(0.625f, 0.0f)) <= exact_tanh(0.625f));
    CHECK(exact_tanh(std::nextafter(10.0f, 0.0f)) <= exact_tanh(10.0f));
  }

  TEST_CASE("a fused multiply-add rounds once") {
    // (1 + 2^-12)² = 1 + 2^-11 + 2^-24: rounded before the addition, the last term is lost.
    const float x = 1.0f + 0x1p-12f;
    CHECK(fused_multiply_add(x, x, -1.0f) == 0x1p-11f + 0x1p-24f);
    CHECK(x * x - 1.0f == 0x1p-11f);
    const double y = 1.0 + 0x1p-27;
    CHECK(fused_multiply_add(y, y, -1.0) == 0x1p-26 + 0x1p-54);
  }

  TEST_CASE("the double forms are libm's") {
    CHECK(exact_exp2(-1000.5) == std::exp2(-1000.5));
    CHECK(exact_log2(3.0) == std::log2(3.0));
    CHECK(exact_log(3.0) == std::log(3.0));
    CHECK(exact_tanh(0.3) == std::tanh(0.3));
  }

  TEST_CASE("the constants are the floats nearest to their values") {
    CHECK(kLog2E == 1.4426950408889634f);
    CHECK(kLn2 == 0.6931471805599453f);
  }

  TEST_CASE("65536 floats give the golden bits") {
    const std::map<std::string, GoldenHashes> golden = read_golden_hashes();
    for (const ExactFunction& function : exact_functions()) {
      std::uint64_t hash = 0;
      for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += kSampleStride) {
        const std::uint32_t input = static_cast<std::uint32_t>(bits);
        hash += hash_of_pair(input, bits_of(function.exact(float_from_bits(input))));
      }
      INFO(function.name << fmt::format(" has the hash {:#018x}", hash));
      CHECK(hash == golden.at(function.name).sampled);
    }
  }
}
