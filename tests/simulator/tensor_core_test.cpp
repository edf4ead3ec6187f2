// The bits of the tensor cores: each rule by a sum that comes out differently without it, worked out by
// hand, and the vector form against the specification on random tiles.

#include "simulator/simt/tensor_core.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "reference/numerics/float_formats.h"
#include "tests/support/mma_tiles.h"

using namespace pagelab;
using namespace pagelab::simt;
using namespace pagelab::test;

namespace {

struct Product {
  double a;
  double b;
};

std::uint16_t code_of(double value, MmaInput input) {
  const std::uint16_t code =
      input == MmaInput::kBFloat16 ? round_to<BFloat16>(value).bits : round_to<Float16>(value).bits;
  const double kept = input == MmaInput::kBFloat16 ? decode(BFloat16{code}) : decode(Float16{code});
  REQUIRE((kept == value || std::isnan(value)));  // else the case is not what it says
  return code;
}

// The sum by both forms, with the terms in two places each of which is as good as any other.
float sum_of(MmaInput input, float c, std::initializer_list<Product> products) {
  REQUIRE(products.size() <= 8);
  const std::vector<Product> terms(products);
  std::uint16_t a[16][16] = {};
  std::uint16_t b[16][8] = {};
  float accumulators[16][8] = {};
  float results[16][8];
  // Row 5 and column 2 have them in order; row 11 and column 7 in reverse, at the other end.
  for (std::size_t index = 0; index < terms.size(); ++index) {
    a[5][index] = code_of(terms[index].a, input);
    b[index][2] = code_of(terms[index].b, input);
    a[11][15 - index] = a[5][index];
    b[15 - index][7] = b[index][2];
  }
  accumulators[5][2] = accumulators[11][7] = c;
  mma_m16n8k16(a, b, accumulators, results, input);
  std::uint16_t b_column[16];
  for (int k = 0; k < 16; ++k) b_column[k] = b[k][2];
  const float by_the_rules = mma_by_the_rules(a[5], b_column, 16, c, input);
  CHECK(std::bit_cast<std::uint32_t>(results[5][2]) == std::bit_cast<std::uint32_t>(by_the_rules));
  CHECK(std::bit_cast<std::uint32_t>(results[11][7]) == std::bit_cast<std::uint32_t>(by_the_rules));
  return by_the_rules;
}

std::uint32_t bits_of_sum(MmaInput input, float c, std::initializer_list<Product> products) {
  return std::bit_cast<std::uint32_t>(sum_of(input, c, products));
}

constexpr MmaInput kInputs[] = {MmaInput::kBFloat16, MmaInput::kFloat16};
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kNaN = 0x7fffffffu;

template <int kDepth>
std::int64_t mismatches_with_the_rules(const MmaTile<kDepth>& tile, MmaInput input) {
  float results[16][8];
  mma_tile(tile, results, input);
  std::int64_t mismatches = 0;
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      const float expected = result_by_the_rules(tile, row, column, input);
      const bool is_same = std::bit_cast<std::uint32_t>(results[row][column]) ==
                           std::bit_cast<std::uint32_t>(expected);
      if (!is_same) ++mismatches;
    }
  }
  return mismatches;
}

template <int kDepth>
void check_forms_alike(int tiles_per_category) {
  for (const MmaInput input : kInputs) {
    for (const MmaCategory& category : mma_categories()) {
      CAPTURE(to_string(input));
      CAPTURE(category.name);
      std::int64_t mismatches = 0;
      for (int index = 0; index < tiles_per_category; ++index) {
        const std::uint64_t seed = 0x51a7e000u + static_cast<std::uint64_t>(index);
        mismatches += mismatches_with_the_rules(mma_tile_of<kDepth>(category, input, seed), input);
      }
      CHECK(mismatches == 0);
    }
  }
}

}  // namespace

TEST_SUITE("tensor core") {
  TEST_CASE("a term is cut off to a multiple of 2 to the power E minus 25") {
    for (const MmaInput input : kInputs) {
      // E = 0: 1 and −1 cancel, and what is left of the third term shows.
      CHECK(sum_of(input, 1.0f, {{-1, 1}, {0x1p-12, 0x1p-13}}) == 0x1p-25f);
      CHECK(sum_of(input, 1.0f, {{-1, 1}, {0x1p-13, 0x1p-13}}) == 0.0f);
      CHECK(sum_of(input, 1.0f, {{-1, 1}, {1.5 * 0x1p-12, 0x1p-13}}) == 0x1p-25f);
      CHECK(sum_of(input, 1.0f, {{-1, 1}, {-1.5 * 0x1p-12, 0x1p-13}}) == -0x1p-25f);
      CHECK(sum_of(input, 1.0f, {{-1, 1}, {-1.5 * 0x1p-13, 0x1p-13}}) == 0.0f);
    }
  }

  TEST_CASE("C is cut off like any other term") {
    for (const MmaInput input : kInputs) {
      // E = 3 of 8 and −8: the unit is 2^-22, and 1 + 2^-23 loses its last place.
      CHECK(sum_of(input, 1.0f + 0x1p-23f, {{8, 1}, {-8, 1}}) == 1.0f);
      CHECK(sum_of(input, 1.0f + 0x1p-22f, {{8, 1}, {-8, 1}}) == 1.0f + 0x1p-22f);
    }
  }

  TEST_CASE("the exponent of a product is the sum of the exponents also where it is 2 and more") {
    for (const MmaInput input : kInputs) {
      // 1.5 · 1.5 = 2.25 counts with exponent 0, so 2^-25 stays; as an accumulator 2.25 counts with 1.
      CHECK(sum_of(input, 0.0f, {{1.5, 1.5}, {-1.5, 1.5}, {0x1p-12, 0x1p-13}}) == 0x1p-25f);
      CHECK(sum_of(input, 2.25f, {{-1.5, 1.5}, {0x1p-12, 0x1p-13}}) == 0.0f);
    }
  }

  TEST_CASE("all sixteen products and C are one sum whatever their order") {
    for (const MmaInput input : kInputs) {
      // One after the other in float32, 1 would be lost in 2^15 · 2^15 unless the large ones come first.
      CHECK(sum_of(input, 0.0f, {{0x1p12, 0x1p12}, {1, 1}, {-0x1p12, 0x1p12}}) == 1.0f);
      CHECK(sum_of(input, 1.0f, {{0x1p12, 0x1p12}, {-0x1p12, 0x1p12}}) == 1.0f);
      CHECK(sum_of(input, 0x1p24f, {{1, 1}, {-0x1p12, 0x1p12}, {1, 1}}) == 2.0f);
    }
    // The first and the last k of sixteen.
    std::uint16_t a[16] = {};
    std::uint16_t b[16] = {};
    a[0] = code_of(0x1p12, MmaInput::kBFloat16);
    a[15] = code_of(-0x1p12, MmaInput::kBFloat16);
    b[0] = b[15] = code_of(0x1p13, MmaInput::kBFloat16);
    CHECK(mma_by_the_rules(a, b, 16, 1.0f, MmaInput::kBFloat16) == 1.0f);
  }

  TEST_CASE("a tensor core that sums k in two halves loses what cancels across them") {
    std::uint16_t a[16] = {};
    std::uint16_t b[16] = {};
    a[0] = code_of(0x1p12, MmaInput::kFloat16);
    a[15] = code_of(-0x1p12, MmaInput::kFloat16);
    b[0] = b[15] = code_of(0x1p13, MmaInput::kFloat16);
    MmaRules halves;
    halves.products_per_sum = 8;
    // 2^25 + 1 is cut off to 2^25 after the first half.
    CHECK(mma_by_the_rules(a, b, 16, 1.0f, MmaInput::kFloat16) == 1.0f);
    CHECK(mma_by_the_rules(a, b, 16, 1.0f, MmaInput::kFloat16, halves) == 0.0f);
  }

  TEST_CASE("the sum is cut off towards zero to 24 bits") {
    for (const MmaInput input : kInputs) {
      // 1 + 1.5 · 2^-24 is nearer to 1 + 2^-23.
      CHECK(sum_of(input, 1.0f, {{1.5 * 0x1p-12, 0x1p-12}}) == 1.0f);
      CHECK(sum_of(input, -1.0f, {{-1.5 * 0x1p-12, 0x1p-12}}) == -1.0f);
      // 1 − 2^-25 has 25 bits; towards zero is 1 − 2^-24.
      CHECK(sum_of(input, 1.0f, {{-0x1p-12, 0x1p-13}}) == 1.0f - 0x1p-24f);
    }
  }

  TEST_CASE("a sum of 2^128 and more is infinite and one below is cut off") {
    constexpr MmaInput kBFloat16 = MmaInput::kBFloat16;
    constexpr float kLargest = std::numeric_limits<float>::max();
    CHECK(sum_of(kBFloat16, 0.0f, {{0x1p64, 0x1p64}}) == kInfinity);
    CHECK(sum_of(kBFloat16, 0.0f, {{-0x1p64, 0x1p63}, {0x1p64, -0x1p63}}) == -kInfinity);
    // The largest float and half its last place: 2^128 would be the nearest.
    CHECK(sum_of(kBFloat16, kLargest, {{0x1p52, 0x1p51}}) == kLargest);
    CHECK(sum_of(kBFloat16, kLargest, {{0x1p52, 0x1p52}}) == kInfinity);
    CHECK(sum_of(MmaInput::kFloat16, kLargest, {{65504, 65504}}) == kLargest);
  }

  TEST_CASE("a result of zero is plus zero") {
    for (const MmaInput input : kInputs) {
      CHECK(bits_of_sum(input, -0.0f, {{-0.0, 1}, {0.0, -1}}) == 0);
      CHECK(bits_of_sum(input, -1.0f, {{1, 1}}) == 0);
      CHECK(bits_of_sum(input, 0.0f, {}) == 0);
    }
    // −2^-150 is cut off to zero.
    CHECK(bits_of_sum(MmaInput::kBFloat16, -0.0f, {{-0x1p-75, 0x1p-75}}) == 0);
  }

  TEST_CASE("a zero operand contributes nothing to E") {
    CHECK(sum_of(MmaInput::kBFloat16, 0.0f, {{0, 0x1p127}, {0x1p-40, 1}}) == 0x1p-40f);
    CHECK(sum_of(MmaInput::kFloat16, 0.0f, {{0, 65504}, {0x1p-14, 0x1p-14}}) == 0x1p-28f);
  }

  TEST_CASE("subnormal operands count with the exponent of their field") {
    // Float16: 2^-24 · 1 counts with −14, so the unit is 2^-39. 2^-16 is subnormal as well.
    constexpr MmaInput kFloat16 = MmaInput::kFloat16;
    CHECK(sum_of(kFloat16, 0.0f, {{0x1p-24, 1}, {0x1p-24, 0x1p-15}}) == 0x1p-24f + 0x1p-39f);
    CHECK(sum_of(kFloat16, 0.0f, {{0x1p-24, 1}, {0x1p-24, 0x1p-16}}) == 0x1p-24f);
    // Bfloat16: 2^-133 · 2^120 counts with −126 + 120, so the unit is 2^-31.
    constexpr MmaInput kBFloat16 = MmaInput::kBFloat16;
    CHECK(sum_of(kBFloat16, 0.0f, {{0x1p-133, 0x1p120}, {0x1p-15, 0x1p-16}}) ==
          0x1p-13f + 0x1p-31f);
    CHECK(sum_of(kBFloat16, 0.0f, {{0x1p-133, 0x1p120}, {0x1p-16, 0x1p-16}}) == 0x1p-13f);
  }

  TEST_CASE("subnormal accumulators and results keep their bits") {
    for (const MmaInput input : kInputs) {
      CHECK(sum_of(input, 0x1p-149f, {{0, 1}}) == 0x1p-149f);
      CHECK(sum_of(input, -0x1.8p-127f, {}) == -0x1.8p-127f);
    }
    // 2^-149 + 2^-150 is cut off.
    CHECK(sum_of(MmaInput::kBFloat16, 0x1p-149f, {{0x1p-75, 0x1p-75}}) == 0x1p-149f);
    CHECK(sum_of(MmaInput::kBFloat16, 0.0f, {{0x1p-75, 0x1p-75}, {0x1p-75, 0x1p-75}}) == 0x1p-149f);
  }

  TEST_CASE("E is at least minus 133 so terms below 2^-158 are cut off") {
    constexpr MmaInput kBFloat16 = MmaInput::kBFloat16;
    // The largest terms cancel. 7 · 73 = 511, and 511 · 2^-158 + 2^-158 = 2^-149, the smallest float.
    const Product large = {0x1p-67, 0x1p-67};
    const Product minus_large = {-0x1p-67, 0x1p-67};
    const Product nearly_smallest = {7 * 0x1p-79, 73 * 0x1p-79};
    CHECK(sum_of(kBFloat16, 0.0f, {large, minus_large, nearly_smallest, {0x1p-79, 0x1p-79}}) ==
          0x1p-149f);
    // The same in two halves of 2^-159, which an E of −134 would keep.
    CHECK(bits_of_sum(
              kBFloat16, 0.0f,
              {large, minus_large, nearly_smallest, {0x1p-80, 0x1p-79}, {0x1p-80, 0x1p-79}}) == 0);
  }

  TEST_CASE("a subnormal C counts with exponent minus 126") {
    // So the unit is 2^-151: 2^-150 + 2^-151 + 2^-151 make the smallest float, but where the last comes as
    // two of 2^-152, those are cut off. With C's own exponent, −149, they would count.
    const Product half_of_smallest = {0x1p-75, 0x1p-75};
    const Product eighth_of_smallest = {0x1p-76, 0x1p-76};
    CHECK(sum_of(MmaInput::kBFloat16, 0x1p-149f,
                 {half_of_smallest, {0x1p-75, 0x1p-76}, {0x1p-75, 0x1p-76}}) == 0x1p-148f);
    CHECK(sum_of(MmaInput::kBFloat16, 0x1p-149f,
                 {half_of_smallest, {0x1p-75, 0x1p-76}, eighth_of_smallest, eighth_of_smallest}) ==
          0x1p-149f);
  }

  TEST_CASE("NaN and what has no value give the one NaN of the tensor cores") {
    for (const MmaInput input : kInputs) {
      const double infinity = kInfinity;
      const double nan = std::numeric_limits<double>::quiet_NaN();
      CHECK(bits_of_sum(input, 1.0f, {{nan, 1}}) == kNaN);
      CHECK(bits_of_sum(input, 1.0f, {{0, nan}}) == kNaN);
      CHECK(bits_of_sum(input, 1.0f, {{infinity, 0}}) == kNaN);
      CHECK(bits_of_sum(input, 1.0f, {{0, -infinity}}) == kNaN);
      CHECK(bits_of_sum(input, 1.0f, {{infinity, 1}, {infinity, -1}}) == kNaN);
      CHECK(bits_of_sum(input, -kInfinity, {{infinity, 2}}) == kNaN);
      CHECK(bits_of_sum(input, std::bit_cast<float>(0xff812345u), {{1, 1}}) == kNaN);
      CHECK(bits_of_sum(input, kInfinity, {{infinity, -2}, {nan, 1}}) == kNaN);
    }
  }

  TEST_CASE("an infinity decides over everything finite") {
    for (const MmaInput input : kInputs) {
      const double infinity = kInfinity;
      CHECK(sum_of(input, 1.0f, {{infinity, 2}, {infinity, 1}, {-5, 3}}) == kInfinity);
      CHECK(sum_of(input, -kInfinity, {{5, 3}, {infinity, -1}}) == -kInfinity);
      CHECK(sum_of(input, kInfinity, {}) == kInfinity);
    }
  }

  TEST_CASE("the vector form has the bits of the rules in every category of tiles") {
    check_forms_alike<16>(150);
    check_forms_alike<8>(150);
  }

  TEST_CASE("D may be C") {
    const MmaCategory category = mma_categories().front();
    const MmaTile<16> tile = mma_tile_of<16>(category, MmaInput::kBFloat16, 3);
    float apart[16][8];
    mma_tile(tile, apart, MmaInput::kBFloat16);
    MmaTile<16> in_place = tile;
    mma_m16n8k16(in_place.a, in_place.b, in_place.c, in_place.c, MmaInput::kBFloat16);
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 8; ++column)
        CHECK(in_place.c[row][column] == apart[row][column]);
    }
  }
}
