// The specification: one result of a tensor-core instruction, step by step.

#include "simulator/simt/tensor_core.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace pagelab::simt {
namespace {

// A number taken apart: ± significand · 2^(exponent − fraction_bits). The exponent is that of the
// number's own field, so the significand of a normal number is in [1, 2) · 2^fraction_bits and that
// of a subnormal one below; that of a product of two is in [1, 4).
struct Parts {
  bool is_negative = false;
  bool is_nan = false;
  bool is_infinite = false;
  std::int64_t significand = 0;  // 0: the number is zero
  int exponent = 0;
  int fraction_bits = 0;
};

// Takes a number apart whose format has an exponent field of so many bits and so many fraction bits.
Parts parts_of(std::uint32_t bits, int exponent_bits, int fraction_bits) {
  const std::uint32_t largest_field = (1u << exponent_bits) - 1;
  const std::uint32_t field = (bits >> fraction_bits) & largest_field;
  const std::uint32_t fraction = bits & ((1u << fraction_bits) - 1);
  const int bias = static_cast<int>(largest_field / 2);
  Parts parts;
  parts.is_negative = (bits >> (exponent_bits + fraction_bits)) != 0;
  parts.is_nan = field == largest_field && fraction != 0;
  parts.is_infinite = field == largest_field && fraction == 0;
  parts.significand = field == 0 ? fraction : fraction | (1u << fraction_bits);
  parts.exponent = std::max(static_cast<int>(field), 1) - bias;
  parts.fraction_bits = fraction_bits;
  return parts;
}

Parts parts_of(std::uint16_t bits, MmaInput input) {
  return input == MmaInput::kBFloat16 ? parts_of(bits, 8, 7) : parts_of(bits, 5, 10);
}

Parts parts_of(float value) { return parts_of(std::bit_cast<std::uint32_t>(value), 8, 23); }

// Exact: significands are multiplied, exponents added, and the result is not normalised.
Parts product_of(const Parts& a, const Parts& b) {
  const bool is_zero_times_infinity =
      (a.is_infinite && b.significand == 0) || (b.is_infinite && a.significand == 0);
  Parts product;
  product.is_negative = a.is_negative != b.is_negative;
  product.is_nan = a.is_nan || b.is_nan || is_zero_times_infinity;
  product.is_infinite = a.is_infinite || b.is_infinite;
  product.significand = a.significand * b.significand;
  product.exponent = a.exponent + b.exponent;
  product.fraction_bits = a.fraction_bits + b.fraction_bits;
  return product;
}

// The number as a multiple of 2^unit_exponent, cut off towards zero.
std::int64_t multiple_of_unit(const Parts& number, int unit_exponent) {
  if (number.significand == 0) return 0;  // whose exponent may be above E
  const int shift = number.exponent - number.fraction_bits - unit_exponent;
  std::int64_t magnitude = 0;
  if (shift >= 0) {
    magnitude = number.significand << shift;
  } else if (shift > -63) {
    magnitude = number.significand >> -shift;
  }
  return number.is_negative ? -magnitude : magnitude;
}

// sum · 2^unit_exponent, cut off towards zero to a float32; too large a number becomes infinity.
float float_from_sum(std::int64_t sum, int unit_exponent) {
  if (sum == 0) return 0.0f;  // +0, whatever was added or cut off
  const std::uint32_t sign = sum < 0 ? 0x80000000u : 0u;
  const std::uint64_t magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  const int leading_bit = std::bit_width(magnitude) - 1;
  const int exponent = unit_exponent + leading_bit;
  if (exponent > 127) return std::bit_cast<float>(sign | 0x7f800000u);
  // The last place of a result is 23 bits below its first, but never below that of subnormals.
  const int last_place = std::max(exponent, -126) - 23;
  const int shift = last_place - unit_exponent;
  std::uint64_t significand = 0;
  if (shift <= 0) {
    significand = magnitude << -shift;
  } else if (shift < 64) {
    significand = magnitude >> shift;
  }
  if (significand == 0) return 0.0f;
  // A normal significand has its leading 1 at bit 23, where it adds 1 to the field below.
  const std::uint32_t field = static_cast<std::uint32_t>(std::max(exponent, -126) + 126);
  return std::bit_cast<float>(sign | ((field << 23) + static_cast<std::uint32_t>(significand)));
}

// A subnormal float32, written with the exponent of its leading bit.
Parts normalised(Parts number) {
  const int leading_bit = std::bit_width(static_cast<std::uint64_t>(number.significand)) - 1;
  const int shift = number.fraction_bits - leading_bit;
  number.significand <<= shift;
  number.exponent -= shift;
  return number;
}

// What NaN and infinities among the terms make of the result, whatever the others are.
struct Extraordinary {
  bool is_nan = false;
  bool is_plus_infinity = false;
  bool is_minus_infinity = false;

  void see(const Parts& term) {
    is_nan |= term.is_nan;
    is_plus_infinity |= term.is_infinite && !term.is_negative;
    is_minus_infinity |= term.is_infinite && term.is_negative;
  }
  bool decide() const { return is_nan || is_plus_infinity || is_minus_infinity; }
  float result() const {
    if (is_nan || (is_plus_infinity && is_minus_infinity)) {
      return std::bit_cast<float>(0x7fffffffu);  // the tensor cores' one NaN
    }
    const float infinity = std::numeric_limits<float>::infinity();
    return is_plus_infinity ? infinity : -infinity;
  }
};

// One fused sum of c and up to 16 products.
float fused_sum(const std::uint16_t* a,
                const std::uint16_t* b,
                int num_products,
                float c,
                MmaInput input,
                const MmaRules& rules) {
  constexpr int kMostTerms = 17;
  Parts terms[kMostTerms];
  // Step 1: the terms, exactly.
  for (int k = 0; k < num_products; ++k) {
    terms[k] = product_of(parts_of(a[k], input), parts_of(b[k], input));
  }
  Parts& accumulator = terms[num_products];
  accumulator = parts_of(c);
  if (rules.c_is_normalised && accumulator.significand != 0) accumulator = normalised(accumulator);
  const int num_terms = num_products + 1;

  // Step 2: NaN and infinities decide alone.
  Extraordinary extraordinary;
  for (int index = 0; index < num_terms; ++index) extraordinary.see(terms[index]);
  if (extraordinary.decide()) return extraordinary.result();

  // Step 3: E, the largest exponent of all terms that are not zero, and at least −133.
  int largest_exponent = rules.lowest_exponent;
  for (int index = 0; index < num_terms; ++index) {
    const bool is_zero = terms[index].significand == 0;
    if (!is_zero) largest_exponent = std::max(largest_exponent, terms[index].exponent);
  }
  if (largest_exponent == MmaRules::kNone) return 0.0f;  // all terms are zero

  // Step 4: every term, cut off towards zero to a multiple of 2^(E − 25), and their exact sum.
  const int unit_exponent = largest_exponent - rules.fraction_bits;
  std::int64_t sum = 0;
  for (int index = 0; index < num_terms; ++index) {
    sum += multiple_of_unit(terms[index], unit_exponent);
  }

  // Step 5: the sum, cut off towards zero to a float32.
  return float_from_sum(sum, unit_exponent);
}

}  // namespace

const char* to_string(MmaInput input) { return input == MmaInput::kBFloat16 ? "bf16" : "f16"; }

float mma_by_the_rules(const std::uint16_t* a,
                       const std::uint16_t* b,
                       int depth,
                       float c,
                       MmaInput input,
                       const MmaRules& rules) {
  float result = c;
  for (int k = 0; k < depth; k += rules.products_per_sum) {
    const int num_products = std::min(rules.products_per_sum, depth - k);
    result = fused_sum(a + k, b + k, num_products, result, input, rules);
  }
  return result;
}

}  // namespace pagelab::simt
