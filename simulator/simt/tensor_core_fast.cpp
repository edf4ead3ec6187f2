// The same arithmetic as in tensor_core.cpp, eight results at a time (AVX2, which every processor that
// pagelab runs on has).
//
// A product of two 16-bit numbers is exact in float32, so a term in units of 2^(E − 25) is
// truncate((a · b) · 2^(25 − E)), one conversion to int32: |a · b| < 4 · 2^E, so a term is below 2^27
// and sixteen of them fit an int32 (16 · (2 − 2^-10)² · 2^25 < 2^31). Results for which the ranges do
// not suffice are left to the specification: those with NaN or infinity, with products of 2^126 and
// more, with E below −100, and with a sum that C takes beyond int32. With E of −100 and more, a product
// that is not exact because it is subnormal in float32 is below 2^-126 and is cut off to 0.

#include <immintrin.h>

#include <climits>
#include <cstring>

#include "simulator/simt/tensor_core.h"
#include "simulator/simt/tensor_core_ordinary.h"

namespace pagelab::simt {
namespace {

// What counts as an exponent for zero and for NaN and infinity. Added with saturation, the first stays
// far below every exponent and the second far above, also when both meet (infinity · 0 is NaN).
constexpr int kExponentOfZero = -10000;
constexpr int kExponentOfNonFinite = 25000;
constexpr int kNoExponent = -5000;  // below: all terms are zero

// Results whose exponents lie within these bounds are computed here.
constexpr int kLowestExponent = -100;
constexpr int kHighestExponent = 127;
constexpr int kHighestProductExponent = 125;

constexpr int kFractionBits = 25;  // of MmaRules

// A and B as floats, and their exponents two a lane: k in the lower half, k + 1 in the upper.
template <int kDepth>
struct Operands {
  alignas(32) float a[16][kDepth];
  alignas(32) float b[kDepth][8];
  alignas(32) std::int16_t a_exponents[16][kDepth];
  alignas(32) std::int16_t b_exponents[kDepth / 2][16];
};

// The exponents of sixteen 16-bit numbers.
template <MmaInput kInput>
__m256i exponents_of(__m256i bits) {
  constexpr int kFieldBits = kInput == MmaInput::kBFloat16 ? 8 : 5;
  constexpr int kLargestField = (1 << kFieldBits) - 1;
  constexpr int kBias = kLargestField / 2;
  const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi16(0x7fff));
  const __m256i field = _mm256_srli_epi16(magnitude, 15 - kFieldBits);
  const __m256i is_zero = _mm256_cmpeq_epi16(magnitude, _mm256_setzero_si256());
  const __m256i is_not_finite = _mm256_cmpeq_epi16(field, _mm256_set1_epi16(kLargestField));
  const __m256i field_of_finite = _mm256_max_epi16(field, _mm256_set1_epi16(1));
  const __m256i exponents = _mm256_sub_epi16(field_of_finite, _mm256_set1_epi16(kBias));
  const __m256i if_zero = _mm256_and_si256(is_zero, _mm256_set1_epi16(kExponentOfZero));
  const __m256i if_not_finite =
      _mm256_and_si256(is_not_finite, _mm256_set1_epi16(kExponentOfNonFinite));
  return _mm256_add_epi16(exponents, _mm256_add_epi16(if_zero, if_not_finite));
}

// The values of eight 16-bit numbers.
template <MmaInput kInput>
__m256 floats_of(__m128i bits) {
  if constexpr (kInput == MmaInput::kFloat16) return _mm256_cvtph_ps(bits);
  // A bfloat16 is the upper half of a float32.
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

__m128i load_eight(const std::uint16_t* bits) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bits));
}

template <MmaInput kInput, int kDepth>
void convert_a(const std::uint16_t (&a)[16][kDepth], Operands<kDepth>& operands) {
  // A and its copies are dense, so rows need not be told apart.
  for (int index = 0; index < 16 * kDepth; index += 16) {
    const __m128i lower = load_eight(&a[0][0] + index);
    const __m128i upper = load_eight(&a[0][0] + index + 8);
    _mm256_store_ps(&operands.a[0][0] + index, floats_of<kInput>(lower));
    _mm256_store_ps(&operands.a[0][0] + index + 8, floats_of<kInput>(upper));
    _mm256_store_si256(reinterpret_cast<__m256i*>(&operands.a_exponents[0][0] + index),
                       exponents_of<kInput>(_mm256_set_m128i(upper, lower)));
  }
}

template <MmaInput kInput, int kDepth>
void convert_b(const std::uint16_t (&b)[kDepth][8], Operands<kDepth>& operands) {
  for (int k = 0; k < kDepth; k += 2) {
    const __m128i even = load_eight(b[k]);
    const __m128i odd = load_eight(b[k + 1]);
    _mm256_store_ps(operands.b[k], floats_of<kInput>(even));
    _mm256_store_ps(operands.b[k + 1], floats_of<kInput>(odd));
    const __m256i pairs =
        _mm256_set_m128i(_mm_unpackhi_epi16(even, odd), _mm_unpacklo_epi16(even, odd));
    _mm256_store_si256(reinterpret_cast<__m256i*>(operands.b_exponents[k / 2]),
                       exponents_of<kInput>(pairs));
  }
}

// The exponents of eight float32 accumulators.
__m256i exponents_of(__m256 c) {
  const __m256i magnitude = _mm256_and_si256(_mm256_castps_si256(c), _mm256_set1_epi32(0x7fffffff));
  const __m256i field = _mm256_srli_epi32(magnitude, 23);
  const __m256i is_zero = _mm256_cmpeq_epi32(magnitude, _mm256_setzero_si256());
  const __m256i is_not_finite = _mm256_cmpeq_epi32(field, _mm256_set1_epi32(255));
  const __m256i field_of_finite = _mm256_max_epi32(field, _mm256_set1_epi32(1));
  __m256i exponents = _mm256_sub_epi32(field_of_finite, _mm256_set1_epi32(127));
  exponents = _mm256_blendv_epi8(exponents, _mm256_set1_epi32(kExponentOfZero), is_zero);
  return _mm256_blendv_epi8(exponents, _mm256_set1_epi32(kExponentOfNonFinite), is_not_finite);
}

// The largest exponent among the products of each of a row's eight results.
template <int kDepth>
__m256i largest_product_exponents(const Operands<kDepth>& operands, int row) {
  __m256i largest = _mm256_set1_epi16(2 * kExponentOfZero);
#pragma GCC unroll 8
  for (int k = 0; k < kDepth; k += 2) {
    int pair;
    std::memcpy(&pair, &operands.a_exponents[row][k], sizeof pair);
    const __m256i a = _mm256_set1_epi32(pair);
    const __m256i b =
        _mm256_load_si256(reinterpret_cast<const __m256i*>(operands.b_exponents[k / 2]));
    largest = _mm256_max_epi16(largest, _mm256_adds_epi16(a, b));
  }
  const __m256i of_odd_k = _mm256_srai_epi32(largest, 16);
  const __m256i of_even_k = _mm256_srai_epi32(_mm256_slli_epi32(largest, 16), 16);
  return _mm256_max_epi32(of_even_k, of_odd_k);
}

// 2^exponent, for exponents of normal floats.
__m256 power_of_two(__m256i exponent) {
  const __m256i field = _mm256_add_epi32(exponent, _mm256_set1_epi32(127));
  return _mm256_castsi256_ps(_mm256_slli_epi32(field, 23));
}

// 2^(25 − E), the number of units in 1.
__m256 units_in_one(__m256i exponent) {
  return power_of_two(_mm256_sub_epi32(_mm256_set1_epi32(kFractionBits), exponent));
}

// 2^(E − 25), the unit.
__m256 size_of_unit(__m256i exponent) {
  return power_of_two(_mm256_sub_epi32(exponent, _mm256_set1_epi32(kFractionBits)));
}

// The sum of a row's products, each cut off to whole units.
template <int kDepth>
__m256i sum_of_products(const Operands<kDepth>& operands, int row, __m256 scale) {
  __m256i sum = _mm256_setzero_si256();
#pragma GCC unroll 16
  for (int k = 0; k < kDepth; ++k) {
    const __m256 a = _mm256_broadcast_ss(&operands.a[row][k]);
    const __m256 product = _mm256_mul_ps(a, _mm256_load_ps(operands.b[k]));
    const __m256i term = _mm256_cvttps_epi32(_mm256_mul_ps(product, scale));
    sum = _mm256_add_epi32(sum, term);
  }
  return sum;
}

// Bit j is set if the exponents of result j are out of our bounds.
int exponents_out_of_bounds(__m256i product_exponent, __m256i exponent) {
  const __m256i is_too_large = _mm256_or_si256(
      _mm256_cmpgt_epi32(product_exponent, _mm256_set1_epi32(kHighestProductExponent)),
      _mm256_cmpgt_epi32(exponent, _mm256_set1_epi32(kHighestExponent)));
  const __m256i is_too_small =
      _mm256_and_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(kLowestExponent), exponent),
                       _mm256_cmpgt_epi32(exponent, _mm256_set1_epi32(kNoExponent)));
  return _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_or_si256(is_too_large, is_too_small)));
}

// A row's results that are left to the rules, put in place of what was computed.
template <int kDepth>
[[gnu::noinline]] void compute_by_the_rules(int left,
                                            const std::uint16_t* a,
                                            const std::uint16_t (&b)[kDepth][8],
                                            __m256 c,
                                            __m256& d,
                                            MmaInput input) {
  alignas(32) float c_row[8];
  alignas(32) float d_row[8];
  _mm256_store_ps(c_row, c);
  _mm256_store_ps(d_row, d);
  for (int column = 0; column < 8; ++column) {
    if ((left >> column & 1) == 0) continue;
    std::uint16_t b_column[kDepth];
    for (int k = 0; k < kDepth; ++k) b_column[k] = b[k][column];
    d_row[column] = mma_by_the_rules(a, b_column, kDepth, c_row[column], input);
  }
  d = _mm256_load_ps(d_row);
}

// Whole units as float32, cut off towards zero to its 24 bits: without the first bit beyond them,
// which lies 24 below the leading one, the conversion cannot round up.
__m256 cut_off_to_float(__m256i units) {
  const __m256i magnitude = _mm256_abs_epi32(units);
  const __m256i kept = _mm256_andnot_si256(_mm256_srli_epi32(magnitude, 24), magnitude);
  const __m256 sign =
      _mm256_and_ps(_mm256_castsi256_ps(units), _mm256_castsi256_ps(_mm256_set1_epi32(INT_MIN)));
  return _mm256_or_ps(_mm256_cvtepi32_ps(kept), sign);
}

// Bit j is set if the sum of x and y in lane j does not fit an int32.
int sums_too_large(__m256i x, __m256i y, __m256i sum) {
  const __m256i differs_from_both =
      _mm256_and_si256(_mm256_xor_si256(x, sum), _mm256_xor_si256(y, sum));
  return _mm256_movemask_ps(_mm256_castsi256_ps(differs_from_both));
}

// What is known of a row's eight results.
struct Row {
  __m256i exponent;   // E
  __m256i products;   // their sum, in units of 2^(E − 25)
  int left_to_rules;  // bit j: result j is left to the rules
};

template <int kDepth>
void find_exponents(const Operands<kDepth>& operands, const float (&c)[16][8], Row (&rows)[16]) {
  for (int row = 0; row < 16; ++row) {
    const __m256i of_products = largest_product_exponents(operands, row);
    const __m256i largest = _mm256_max_epi32(of_products, exponents_of(_mm256_loadu_ps(c[row])));
    rows[row].left_to_rules = exponents_out_of_bounds(of_products, largest);
    // Kept within what a float can scale by; where that changes anything, all terms are zero or the
    // result is left to the rules.
    const __m256i not_too_small = _mm256_max_epi32(largest, _mm256_set1_epi32(kLowestExponent));
    rows[row].exponent = _mm256_min_epi32(not_too_small, _mm256_set1_epi32(kHighestExponent));
  }
}

template <int kDepth>
void sum_products(const Operands<kDepth>& operands, Row (&rows)[16]) {
  for (int row = 0; row < 16; ++row) {
    rows[row].products = sum_of_products(operands, row, units_in_one(rows[row].exponent));
  }
}

// Adds c to a row's products; returns the results that are ours.
__m256 add_accumulators(Row& row, __m256 c) {
  const __m256i c_term = _mm256_cvttps_epi32(_mm256_mul_ps(c, units_in_one(row.exponent)));
  const __m256i sum = _mm256_add_epi32(row.products, c_term);
  row.left_to_rules |= sums_too_large(row.products, c_term, sum);
  return _mm256_mul_ps(cut_off_to_float(sum), size_of_unit(row.exponent));
}

// In passes over all rows, so that the processor always finds independent work.
template <MmaInput kInput, int kDepth>
void mma(const std::uint16_t (&a)[16][kDepth],
         const std::uint16_t (&b)[kDepth][8],
         const float (&c)[16][8],
         float (&d)[16][8]) {
  if (mma_of_ordinary_numbers<kInput>(a, b, c, d)) return;
  Operands<kDepth> operands;
  convert_a<kInput>(a, operands);
  convert_b<kInput>(b, operands);
  Row rows[16];
  find_exponents(operands, c, rows);
  sum_products(operands, rows);
  for (int row = 0; row < 16; ++row) {
    const __m256 c_row = _mm256_loadu_ps(c[row]);
    __m256 results = add_accumulators(rows[row], c_row);
    const int left = rows[row].left_to_rules;
    if (left != 0) compute_by_the_rules(left, a[row], b, c_row, results, kInput);
    _mm256_storeu_ps(d[row], results);
  }
}

}  // namespace

void mma_m16n8k16(const std::uint16_t (&a)[16][16],
                  const std::uint16_t (&b)[16][8],
                  const float (&c)[16][8],
                  float (&d)[16][8],
                  MmaInput input) {
  if (input == MmaInput::kBFloat16) {
    mma<MmaInput::kBFloat16>(a, b, c, d);
  } else {
    mma<MmaInput::kFloat16>(a, b, c, d);
  }
}

void mma_m16n8k8(const std::uint16_t (&a)[16][8],
                 const std::uint16_t (&b)[8][8],
                 const float (&c)[16][8],
                 float (&d)[16][8],
                 MmaInput input) {
  if (input == MmaInput::kBFloat16) {
    mma<MmaInput::kBFloat16>(a, b, c, d);
  } else {
    mma<MmaInput::kFloat16>(a, b, c, d);
  }
}

}  // namespace pagelab::simt
