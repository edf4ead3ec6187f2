// The form of the tensor cores' arithmetic that only knows ordinary numbers, against the specification: on
// both sides of each of the bounds that simulator/simt/tensor_core_ordinary.cpp names.

#include "simulator/simt/tensor_core_ordinary.h"

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <random>

#include "tests/support/mma_tiles.h"

using namespace pagelab;
using namespace pagelab::simt;
using namespace pagelab::test;

namespace {

// What became of a number of tiles.
struct Counts {
  int ordinary = 0;
  int refused = 0;
  int different = 0;  // results, among those of ordinary tiles
};

template <MmaInput kInput, int kDepth>
void compare(const MmaTile<kDepth>& tile, Counts& counts) {
  float results[16][8];
  if (!mma_of_ordinary_numbers<kInput>(tile.a, tile.b, tile.c, results)) {
    ++counts.refused;
    return;
  }
  ++counts.ordinary;
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      const float expected = result_by_the_rules(tile, row, column, kInput);
      const bool is_same = std::bit_cast<std::uint32_t>(results[row][column]) ==
                           std::bit_cast<std::uint32_t>(expected);
      if (!is_same) ++counts.different;
    }
  }
}

// Exponent fields from `lowest` to `highest`, of random tiles.
struct Fields {
  std::uint32_t lowest;
  std::uint32_t highest;

  std::uint32_t random(std::mt19937& random) const {
    return lowest + random() % (highest - lowest + 1);
  }
};

std::uint16_t number(Fields fields, int fraction_bits, std::mt19937& random) {
  if (random() % 8 == 0) return 0;
  // A significand of ones makes the largest terms.
  const std::uint32_t ones = (1u << fraction_bits) - 1;
  const std::uint32_t fraction = random() % 2 == 0 ? ones : random() & ones;
  const std::uint32_t sign = random() % 2;
  return static_cast<std::uint16_t>(sign << 15 | fields.random(random) << fraction_bits | fraction);
}

template <MmaInput kInput, int kDepth>
Counts compare_tiles(Fields of_a, Fields of_b, Fields of_c) {
  constexpr int kFractionBits = kInput == MmaInput::kBFloat16 ? 7 : 10;
  Counts counts;
  for (unsigned int seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    MmaTile<kDepth> tile;
    for (auto& row : tile.a) {
      for (std::uint16_t& element : row) element = number(of_a, kFractionBits, random);
    }
    for (auto& row : tile.b) {
      for (std::uint16_t& element : row) element = number(of_b, kFractionBits, random);
    }
    for (auto& row : tile.c) {
      for (float& element : row) {
        const std::uint32_t sign_and_fraction = random() & 0x807fffffu;
        element = std::bit_cast<float>(sign_and_fraction | of_c.random(random) << 23);
      }
    }
    // Every other tile has results of zero terms, and such as have only C.
    if (seed % 2 == 0) {
      for (std::uint16_t& element : tile.a[5]) element = 0;
      for (int column = 0; column < 4; ++column) tile.c[5][column] = -0.0f;
    }
    compare<kInput>(tile, counts);
  }
  return counts;
}

constexpr Fields kAboutOne = {124, 130};

}  // namespace

TEST_SUITE("ordinary tiles") {
  TEST_CASE("bfloat16 numbers below 2 to the 26 are ordinary and others are not") {
    const Counts below =
        compare_tiles<MmaInput::kBFloat16, 16>({130, 127 + 25}, {100, 127}, {120, 127 + 25});
    CHECK(below.ordinary == 200);
    CHECK(below.different == 0);
    CHECK(compare_tiles<MmaInput::kBFloat16, 16>({127 + 26, 127 + 26}, {100, 120}, kAboutOne)
              .ordinary == 0);
    CHECK(compare_tiles<MmaInput::kBFloat16, 8>({100, 120}, {127 + 26, 127 + 26}, kAboutOne)
              .ordinary == 0);
  }

  TEST_CASE("an E above 25 is not ordinary whether of a product or of C") {
    // Products from 2^20 · 2^5 on, and C.
    const Counts at_bound = compare_tiles<MmaInput::kBFloat16, 8>(
        {127 + 20, 127 + 20}, {127 + 3, 127 + 5}, {127, 127 + 25});
    CHECK(at_bound.ordinary == 200);
    CHECK(at_bound.different == 0);
    CHECK(compare_tiles<MmaInput::kBFloat16, 8>({127 + 20, 127 + 20}, {127 + 3, 127 + 6}, kAboutOne)
              .ordinary == 0);
    CHECK(compare_tiles<MmaInput::kBFloat16, 16>(kAboutOne, kAboutOne, {127 + 26, 127 + 26})
              .ordinary == 0);
    CHECK(
        compare_tiles<MmaInput::kFloat16, 16>({10, 15}, {10, 15}, {127 + 26, 127 + 26}).ordinary ==
        0);
    const Counts with_float16 =
        compare_tiles<MmaInput::kFloat16, 16>({15 + 9, 15 + 10}, {0, 30}, {0, 127 + 25});
    CHECK(with_float16.different == 0);
  }

  TEST_CASE("an E below minus 100 is only ordinary where all terms are zero") {
    // Products about 2^-100, C subnormal: most tiles have an E below.
    const Counts tiny = compare_tiles<MmaInput::kBFloat16, 16>({76, 78}, {76, 78}, {0, 0});
    CHECK(tiny.ordinary + tiny.refused == 200);
    CHECK(tiny.refused > 0);
    CHECK(tiny.different == 0);
    // C about 2^-100 decides: products are below its unit, or not.
    const Counts by_c = compare_tiles<MmaInput::kBFloat16, 16>({60, 80}, {50, 70}, {27, 40});
    CHECK(by_c.ordinary > 0);
    CHECK(by_c.different == 0);
    // A row of zeros and a C that only it would keep.
    CHECK(compare_tiles<MmaInput::kFloat16, 16>({10, 15}, {10, 15}, {0, 20}).ordinary == 100);
    CHECK(compare_tiles<MmaInput::kFloat16, 16>({10, 15}, {10, 15}, {0, 20}).different == 0);
  }

  TEST_CASE(
      "subnormal operands of float16 count and those of bfloat16 do not reach an ordinary E") {
    const Counts of_float16 = compare_tiles<MmaInput::kFloat16, 16>({0, 3}, {0, 30}, {90, 120});
    CHECK(of_float16.ordinary == 200);
    CHECK(of_float16.different == 0);
    const Counts of_bfloat16 =
        compare_tiles<MmaInput::kBFloat16, 8>({0, 120}, {110, 127 + 25}, {60, 120});
    CHECK(of_bfloat16.ordinary > 0);
    CHECK(of_bfloat16.different == 0);
  }

  TEST_CASE("NaN and infinity are not ordinary") {
    CHECK(compare_tiles<MmaInput::kFloat16, 16>({29, 31}, {1, 30}, kAboutOne).ordinary == 0);
    CHECK(compare_tiles<MmaInput::kFloat16, 8>({1, 30}, {29, 31}, kAboutOne).ordinary == 0);
    CHECK(compare_tiles<MmaInput::kBFloat16, 16>({100, 120}, {100, 120}, {254, 255}).ordinary == 0);
  }

  TEST_CASE("a sum that C takes beyond 32 bits is still right") {
    // Each product is (2 − 2^-7)² = 3.969 · 2^0, so sixteen are 63.5 units of 2^25, and C makes them 65.5:
    // an int32 holds less than 64.
    MmaTile<16> tile = {};
    for (auto& row : tile.a) {
      for (std::uint16_t& element : row) element = 0x3fff;
    }
    for (auto& row : tile.b) {
      for (std::uint16_t& element : row) element = 0x3fff;
    }
    for (auto& row : tile.c) {
      for (float& element : row) element = 1.9999999f;
    }
    // One row of the four that are added at a time has no such sum.
    for (std::uint16_t& element : tile.a[6]) element = 0x3f80;
    Counts counts;
    compare<MmaInput::kBFloat16>(tile, counts);
    CHECK(counts.ordinary == 1);
    CHECK(counts.different == 0);
  }
}
