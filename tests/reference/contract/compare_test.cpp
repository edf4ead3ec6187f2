// The comparator's own tests: nothing that it is used on later can show that it is right.
#include "reference/contract/compare.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace pagelab;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor row(const std::vector<double>& values) {
  return Tensor::from_values<double>({static_cast<std::int64_t>(values.size())}, values);
}

// Whether one element agrees.
bool agrees(double got, double expected, double bound) {
  return compare_within(row({got}), row({expected}), row({bound})).agrees();
}

}  // namespace

TEST_SUITE("comparison") {
  TEST_CASE("a difference of exactly the bound agrees and the next larger one does not") {
    CHECK(agrees(1.5, 1.0, 0.5));
    CHECK_FALSE(agrees(std::nextafter(1.5, 2.0), 1.0, 0.5));
    CHECK(agrees(0.5, 1.0, 0.5));
    CHECK_FALSE(agrees(0.5 - 0x1p-53, 1.0, 0.5));  // the difference, 0.5 + 2^-53, is exact
  }

  TEST_CASE("a NaN on one side never agrees, whatever the bound") {
    for (double bound : {0.0, 1.0, 1e300, kInf, kNaN}) {
      CAPTURE(bound);
      CHECK_FALSE(agrees(kNaN, 1.0, bound));
      CHECK_FALSE(agrees(1.0, kNaN, bound));
      CHECK_FALSE(agrees(kNaN, kInf, bound));
      CHECK_FALSE(agrees(-kInf, kNaN, bound));
    }
  }

  TEST_CASE("NaN agrees with NaN and an infinity with the same infinity") {
    for (double bound : {0.0, 1.0, kInf, kNaN}) {
      CAPTURE(bound);
      CHECK(agrees(kNaN, kNaN, bound));
      CHECK(agrees(-kNaN, kNaN, bound));
      CHECK(agrees(-kInf, -kInf, bound));
      CHECK(agrees(kInf, kInf, bound));
    }
    CHECK_FALSE(agrees(kInf, -kInf, 1e308));
    CHECK_FALSE(agrees(-kInf, 0.0, 1e308));
    CHECK_FALSE(agrees(0.0, -kInf, 1e308));
  }

  TEST_CASE("under a bound of NaN nothing but the same value agrees") {
    CHECK(agrees(2.0, 2.0, kNaN));
    CHECK_FALSE(agrees(2.0, std::nextafter(2.0, 3.0), kNaN));
  }

  TEST_CASE("a bound of infinity is counted, so that it cannot hide") {
    const Comparison comparison =
        compare_within(row({1.0, kInf, 3.0}), row({1.0, 2.0, 3.0}), row({0.0, kInf, kInf}));
    CHECK(comparison.agrees());
    CHECK(comparison.unbounded == 2);
    CHECK(to_string(comparison).find("2 elements have no bound") != std::string::npos);
  }

  TEST_CASE("a negative bound is refused") {
    CHECK_THROWS_WITH_AS(compare_within(row({1, 1}), row({1, 1}), row({0, -1})),
                         "the bound at [1] is -1, but a bound must be at least 0.", Error);
  }

  TEST_CASE("+0 and -0 agree as values and differ as bits") {
    CHECK(agrees(0.0, -0.0, 0.0));
    CHECK_FALSE(compare_bits(row({0.0}), row({-0.0})).agrees());
  }

  TEST_CASE("the same NaN agrees by bits and another NaN does not") {
    const auto nan = [](std::uint32_t bits) {
      return Tensor::from_values<float>({1}, {float_from_bits(bits)});
    };
    CHECK(compare_bits(nan(0x7fffffffu), nan(0x7fffffffu)).agrees());
    CHECK_FALSE(compare_bits(nan(0x7fffffffu), nan(0x7fc00000u)).agrees());
  }

  TEST_CASE("arrays of other shapes or types are refused") {
    const Tensor flat(DType::kFloat64, {6});
    const Tensor square(DType::kFloat64, {2, 3});
    CHECK_THROWS_WITH_AS(compare_within(flat, square, square),
                         "the result has shape [6], but the expected values have [2, 3].", Error);
    CHECK_THROWS_WITH_AS(compare_within(square, square, flat),
                         "the bound has shape [6], but the expected values have [2, 3].", Error);
    CHECK_THROWS_WITH_AS(compare_bits(flat, square),
                         "the result has shape [6], but the expected values have [2, 3].", Error);
    CHECK_THROWS_WITH_AS(compare_bits(Tensor(DType::kFloat32, {6}), flat),
                         "the result is float32, but the expected values are float64.", Error);
  }

  TEST_CASE("empty arrays agree and say that nothing was compared") {
    const Tensor empty(DType::kFloat64, {0, 4});
    const Comparison within = compare_within(empty, empty, empty);
    CHECK(within.agrees());
    CHECK(within.compared == 0);
    CHECK_FALSE(within.worst.has_value());
    CHECK(to_string(within) == "nothing to compare: the arrays are empty");
    CHECK(to_string(compare_bits(empty, empty)) == "nothing to compare: the arrays are empty");
  }

  TEST_CASE("the worst element is the one with the largest share of its own bound") {
    // Shares: 0.1/1 = 10 %, 0.01/0.02 = 50 %, 0/0 = 0 %.
    const Comparison comparison =
        compare_within(row({1.1, 2.01, 3.0}), row({1.0, 2.0, 3.0}), row({1.0, 0.02, 0.0}));
    CHECK(comparison.agrees());
    CHECK(comparison.worst->index == 1);
    CHECK(comparison.worst_share_of_bound == doctest::Approx(0.5));
    CHECK(to_string(comparison) ==
          "all 3 elements lie within the bound derived in docs/error_bound.md, of which at most "
          "50 % is used");
  }

  TEST_CASE("a NaN is worse than any difference of numbers") {
    const Comparison comparison = compare_within(row({1e300, kNaN}), row({0, 0}), row({1, 1}));
    CHECK(comparison.mismatches == 2);
    CHECK(comparison.worst->index == 1);
    CHECK(comparison.worst_share_of_bound == kInf);
  }

  TEST_CASE("a failure names coordinates and both values and two neighbours on each side") {
    const std::vector<double> expected = {0, 1, 2, 3, 4, 5, 6, 7};
    std::vector<double> got = expected;
    got[4] = 4.5;   // [1, 0]: error 0.5
    got[6] = 6.75;  // [1, 2]: error 0.75
    const Comparison comparison = compare_within(
        Tensor::from_values<double>({2, 4}, got), Tensor::from_values<double>({2, 4}, expected),
        Tensor::from_values<double>({2, 4}, std::vector<double>(8, 0.25)), "of a quarter");
    CHECK(comparison.mismatches == 2);
    CHECK(comparison.worst_share_of_bound == 3.0);
    CHECK(to_string(comparison) ==
          "2 of 8 elements lie outside the bound of a quarter; the worst and its neighbours:\n"
          "    [1, 0] got 4.5, expected 4, error 0.5, bound 0.25\n"
          "    [1, 1] got 5, expected 5, error 0, bound 0.25\n"
          "  > [1, 2] got 6.75, expected 6, error 0.75, bound 0.25\n"
          "    [1, 3] got 7, expected 7, error 0, bound 0.25");
  }

  TEST_CASE("a failure by bits shows the bits of the first element that differs") {
    const Tensor expected = Tensor::from_values<float>({3}, {1.0f, 2.0f, 3.0f});
    const Tensor got = Tensor::from_values<float>({3}, {1.0f, float_from_bits(0x40000001u), 4.0f});
    const Comparison comparison = compare_bits(got, expected);
    CHECK(comparison.mismatches == 2);
    CHECK(to_string(comparison) ==
          "2 of 3 elements do not have the expected bits; the first and its neighbours:\n"
          "    [0] got 1, expected 1 (0x3f800000 for 0x3f800000)\n"
          "  > [1] got 2.00000024, expected 2 (0x40000001 for 0x40000000)\n"
          "    [2] got 4, expected 3 (0x40800000 for 0x40400000)");
    CHECK(to_string(compare_bits(expected, expected)) == "all 3 elements have the expected bits");
  }

  TEST_CASE("integers and small floats are compared by their own bits") {
    const Tensor slots = Tensor::from_values<std::int64_t>({2}, {17, -1});
    CHECK(compare_bits(slots, slots).agrees());
    const Tensor low = Tensor::from_values<Fp8E4M3>({1}, {Fp8E4M3{0x38}});
    const Tensor high = Tensor::from_values<Fp8E4M3>({1}, {Fp8E4M3{0x39}});
    CHECK(to_string(compare_bits(low, high)).find("0x38 for 0x39") != std::string::npos);
  }

  TEST_CASE("a float32 result is compared with a float64 expectation without rounding it first") {
    // 0.1f is 0.100000001490116…, so it is off by 1.49e-9.
    const Tensor got = Tensor::from_values<float>({1}, {0.1f});
    CHECK(compare_within(got, row({0.1}), row({1.5e-9})).agrees());
    CHECK_FALSE(compare_within(got, row({0.1}), row({1.4e-9})).agrees());
  }
}
