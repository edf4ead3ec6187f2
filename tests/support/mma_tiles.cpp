#include "tests/support/mma_tiles.h"

#include <algorithm>
#include <bit>

#include "tests/support/bit_hash.h"

namespace pagelab::test {
namespace {

using simt::MmaInput;

// SplitMix64 (Steele, Lea and Flood 2014).
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() { return mix64(state_ += 0x9e3779b97f4a7c15u); }
  // A whole number in [first, last]; the ranges are far too small for the modulo to matter.
  int whole(int first, int last) {
    return first + static_cast<int>(bits() % static_cast<std::uint64_t>(last - first + 1));
  }
  bool one_in(int count) { return whole(1, count) == 1; }

 private:
  std::uint64_t state_;
};

// A format of sign, exponent and fraction bits.
struct Format {
  int exponent_bits;
  int fraction_bits;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  std::uint32_t infinity() const { return ((1u << exponent_bits) - 1) << fraction_bits; }
  std::uint32_t sign_bit() const { return 1u << (exponent_bits + fraction_bits); }
};

constexpr Format kFloat32 = {8, 23};

Format format_of(MmaInput input) {
  return input == MmaInput::kBFloat16 ? Format{8, 7} : Format{5, 10};
}

// A number of this exponent, of random sign and fraction. Below the smallest normal number it is
// subnormal, or zero; above the largest, it gets the largest exponent.
std::uint32_t number_of_exponent(Format format, int exponent, SplitMix64& random) {
  const std::uint64_t draw = random.bits();
  const std::uint32_t sign = (draw >> 63) != 0 ? format.sign_bit() : 0;
  const std::uint32_t one = 1u << format.fraction_bits;
  const std::uint32_t fraction = static_cast<std::uint32_t>(draw) & (one - 1);
  const int field = std::min(exponent + format.bias(), 2 * format.bias());
  if (field >= 1)
    return sign | static_cast<std::uint32_t>(field) << format.fraction_bits | fraction;
  const int shift = 1 - field;
  return sign | (shift > 31 ? 0 : (one | fraction) >> shift);
}

std::uint32_t any_bits(Format format, SplitMix64& random) {
  const std::uint32_t bits = static_cast<std::uint32_t>(random.bits());
  return bits & (2 * format.sign_bit() - 1);
}

std::uint32_t finite_bits(Format format, SplitMix64& random) {
  const std::uint32_t bits = any_bits(format, random);
  const bool is_finite = (bits & format.infinity()) != format.infinity();
  return is_finite ? bits : bits & ~(1u << format.fraction_bits);
}

std::uint32_t special_bits(Format format, SplitMix64& random) {
  const std::uint32_t quiet = 1u << (format.fraction_bits - 1);
  const std::uint32_t specials[] = {0,
                                    1,                          // the smallest subnormal number
                                    2 * quiet - 1,              // the largest subnormal number
                                    2 * quiet,                  // the smallest normal number
                                    format.infinity() - 1,      // the largest finite number
                                    format.infinity(),          //
                                    format.infinity() | quiet,  // a quiet NaN
                                    format.infinity() | 1};     // a signalling NaN
  const std::uint64_t draw = random.bits();
  return specials[draw % std::size(specials)] | ((draw >> 63) != 0 ? format.sign_bit() : 0);
}

std::uint32_t zero_bits(Format format, SplitMix64& random) {
  return random.one_in(2) ? format.sign_bit() : 0;
}

// A subnormal number whose leading bit is anywhere.
std::uint32_t subnormal_bits(Format format, SplitMix64& random) {
  const int exponent = -format.bias() + 1 - random.whole(1, format.fraction_bits);
  return number_of_exponent(format, exponent, random);
}

// An operand such that products lie between 2^low and 2^high, in so far as the format has them.
std::uint32_t half_of_product(Format format, int low, int high, SplitMix64& random) {
  return number_of_exponent(format, random.whole(low / 2, high / 2), random);
}

std::uint32_t operand_bits(const MmaCategory& category, MmaInput input, SplitMix64& random) {
  const Format format = format_of(input);
  const bool is_bfloat16 = input == MmaInput::kBFloat16;
  const int largest_exponent = format.bias();
  switch (category.numbers) {
    case MmaNumbers::kSpread: {
      const int spread = std::min(category.spread, largest_exponent - 1);
      return number_of_exponent(format, random.whole(-spread, spread), random);
    }
    case MmaNumbers::kAnyBits:
      return any_bits(format, random);
    case MmaNumbers::kFiniteBits:
      return finite_bits(format, random);
    case MmaNumbers::kFewSpecials:
      if (random.one_in(30)) return special_bits(format, random);
      return number_of_exponent(format, random.whole(-3, 3), random);
    case MmaNumbers::kFewInfinities:
      if (random.one_in(50)) return format.infinity() | zero_bits(format, random);
      if (random.one_in(50)) return zero_bits(format, random);
      return number_of_exponent(format, random.whole(-3, 3), random);
    case MmaNumbers::kManyZeros:
      if (!random.one_in(8)) return zero_bits(format, random);
      return number_of_exponent(format, random.whole(-9, 9), random);
    case MmaNumbers::kSubnormalOperands:
      if (random.one_in(2)) return subnormal_bits(format, random);
      return number_of_exponent(format, random.whole(largest_exponent / 2, largest_exponent),
                                random);
    case MmaNumbers::kSubnormalC:
    case MmaNumbers::kTinyC:
      // Products from a little above the smallest normal float32 to below the smallest one of all.
      if (random.one_in(12)) return zero_bits(format, random);
      return half_of_product(format, -160, -122, random);
    case MmaNumbers::kZeroC:
      return half_of_product(format, -164, -120, random);
    case MmaNumbers::kBelowFloat:
      return half_of_product(format, -266, -140, random);
    case MmaNumbers::kCancelling:
      return number_of_exponent(format, random.whole(-6, 6), random);
    case MmaNumbers::kOverflowing:
      if (!is_bfloat16) return number_of_exponent(format, random.whole(8, 15), random);
      return number_of_exponent(format, random.whole(58, 67), random);
  }
  return 0;
}

std::uint32_t accumulator_bits(const MmaCategory& category, MmaInput input, SplitMix64& random) {
  switch (category.numbers) {
    case MmaNumbers::kSpread: {
      const int spread = 2 * category.spread;
      return number_of_exponent(kFloat32, random.whole(-spread, spread), random);
    }
    case MmaNumbers::kAnyBits:
      return any_bits(kFloat32, random);
    case MmaNumbers::kFiniteBits:
      return finite_bits(kFloat32, random);
    case MmaNumbers::kFewSpecials:
      if (random.one_in(10)) return special_bits(kFloat32, random);
      return number_of_exponent(kFloat32, random.whole(-6, 6), random);
    case MmaNumbers::kFewInfinities:
      if (random.one_in(20)) return kFloat32.infinity() | zero_bits(kFloat32, random);
      return number_of_exponent(kFloat32, random.whole(-6, 6), random);
    case MmaNumbers::kManyZeros:
      if (!random.one_in(4)) return zero_bits(kFloat32, random);
      return number_of_exponent(kFloat32, random.whole(-18, 18), random);
    case MmaNumbers::kSubnormalOperands:
      if (random.one_in(4)) return zero_bits(kFloat32, random);
      if (input == MmaInput::kFloat16) {
        return number_of_exponent(kFloat32, random.whole(-50, 0), random);
      }
      return number_of_exponent(kFloat32, random.whole(-80, 0), random);
    case MmaNumbers::kSubnormalC:
      return subnormal_bits(kFloat32, random);
    case MmaNumbers::kTinyC:
      return number_of_exponent(kFloat32, random.whole(-130, -118), random);
    case MmaNumbers::kZeroC:
      return zero_bits(kFloat32, random);
    case MmaNumbers::kBelowFloat:
      if (random.one_in(2)) return zero_bits(kFloat32, random);
      return subnormal_bits(kFloat32, random);
    case MmaNumbers::kCancelling:
      return number_of_exponent(kFloat32, random.whole(-24, 12), random);
    case MmaNumbers::kOverflowing:
      return number_of_exponent(kFloat32, random.whole(120, 127), random);
  }
  return 0;
}

// The upper half of k repeats the lower half with the other sign, one product of it 20 powers smaller.
template <int kDepth>
void let_products_cancel(MmaTile<kDepth>& tile, MmaInput input, SplitMix64& random) {
  constexpr int kHalf = kDepth / 2;
  for (int k = 0; k < kHalf; ++k) {
    for (int row = 0; row < 16; ++row) tile.a[row][k + kHalf] = tile.a[row][k] ^ 0x8000u;
    for (int column = 0; column < 8; ++column) tile.b[k + kHalf][column] = tile.b[k][column];
  }
  const int k = random.whole(kHalf, kDepth - 1);
  for (int row = 0; row < 16; ++row) {
    const std::uint32_t bits = number_of_exponent(format_of(input), random.whole(-13, -3), random);
    tile.a[row][k] = static_cast<std::uint16_t>(bits);
  }
}

// FNV-1a (Fowler, Noll, Vo), so that categories draw different numbers from the same seed.
std::uint64_t hash_of(const std::string& name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char character : name) {
    hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3u;
  }
  return hash;
}

}  // namespace

const std::vector<MmaCategory>& mma_categories() {
  static const std::vector<MmaCategory> kCategories = [] {
    std::vector<MmaCategory> categories;
    for (const int spread : {0, 1, 2, 3, 5, 8, 12, 16, 20, 40}) {
      categories.push_back({"spread_" + std::to_string(spread), MmaNumbers::kSpread, spread});
    }
    categories.push_back({"any_bits", MmaNumbers::kAnyBits});
    categories.push_back({"finite_bits", MmaNumbers::kFiniteBits});
    categories.push_back({"few_specials", MmaNumbers::kFewSpecials});
    categories.push_back({"few_infinities", MmaNumbers::kFewInfinities});
    categories.push_back({"many_zeros", MmaNumbers::kManyZeros});
    categories.push_back({"subnormal_operands", MmaNumbers::kSubnormalOperands});
    categories.push_back({"subnormal_c", MmaNumbers::kSubnormalC});
    categories.push_back({"tiny_c", MmaNumbers::kTinyC});
    categories.push_back({"zero_c", MmaNumbers::kZeroC});
    categories.push_back({"below_float", MmaNumbers::kBelowFloat});
    categories.push_back({"cancelling", MmaNumbers::kCancelling});
    categories.push_back({"overflowing", MmaNumbers::kOverflowing});
    return categories;
  }();
  return kCategories;
}

template <int kDepth>
MmaTile<kDepth> mma_tile_of(const MmaCategory& category, MmaInput input, std::uint64_t seed) {
  SplitMix64 random(mix64(seed) + hash_of(category.name));
  MmaTile<kDepth> tile;
  for (auto& row : tile.a) {
    for (std::uint16_t& a : row) {
      a = static_cast<std::uint16_t>(operand_bits(category, input, random));
    }
  }
  for (auto& row : tile.b) {
    for (std::uint16_t& b : row) {
      b = static_cast<std::uint16_t>(operand_bits(category, input, random));
    }
  }
  for (auto& row : tile.c) {
    for (float& c : row) c = std::bit_cast<float>(accumulator_bits(category, input, random));
  }
  if (category.numbers == MmaNumbers::kCancelling) let_products_cancel(tile, input, random);
  return tile;
}

template <int kDepth>
void mma_tile(const MmaTile<kDepth>& tile, float (&d)[16][8], MmaInput input) {
  if constexpr (kDepth == 16) {
    simt::mma_m16n8k16(tile.a, tile.b, tile.c, d, input);
  } else {
    simt::mma_m16n8k8(tile.a, tile.b, tile.c, d, input);
  }
}

template <int kDepth>
float result_by_the_rules(
    const MmaTile<kDepth>& tile, int row, int column, MmaInput input, const simt::MmaRules& rules) {
  std::uint16_t b_column[kDepth];
  for (int k = 0; k < kDepth; ++k) b_column[k] = tile.b[k][column];
  return simt::mma_by_the_rules(tile.a[row], b_column, kDepth, tile.c[row][column], input, rules);
}

template MmaTile<16> mma_tile_of<16>(const MmaCategory&, MmaInput, std::uint64_t);
template MmaTile<8> mma_tile_of<8>(const MmaCategory&, MmaInput, std::uint64_t);
template void mma_tile<16>(const MmaTile<16>&, float (&)[16][8], MmaInput);
template void mma_tile<8>(const MmaTile<8>&, float (&)[16][8], MmaInput);
template float result_by_the_rules<16>(
    const MmaTile<16>&, int, int, MmaInput, const simt::MmaRules&);
template float result_by_the_rules<8>(const MmaTile<8>&, int, int, MmaInput, const simt::MmaRules&);

}  // namespace pagelab::test
