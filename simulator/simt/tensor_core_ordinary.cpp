// The arithmetic of tensor_core.cpp a third time, for tiles of ordinary numbers. Their exponents need no more
// than eight bits, so four of them are added and compared where one float takes its place.
//
// As in tensor_core_fast.cpp a term in units of 2^(E − 25) is truncate((a · b) · 2^(25 − E)), but the power
// is added to the exponent that the product has as a float: an integer addition, for which a processor has
// twice as many places as for a multiplication. So the sum of both exponents must not leave a float's range.
//
// A tile is ordinary if
//   - the exponents of A and B are at most 25 (which NaN and infinity, with the largest of all, are not),
//   - E is at most 25 for every result, so that 25 − E is no less than 0, and
//   - E is at least −100, or all terms are zero.
// A zero counts with the exponent −127, and so does a subnormal bfloat16: a product with one then counts
// with at most −127 + 25, which decides no E of −100 and more. With such an E whatever is below 2^-126, and
// as a float is zero or subnormal, is cut off to 0: the addition makes of it at most 2^-1.

#include "simulator/simt/tensor_core_ordinary.h"

#include <immintrin.h>

#include <cstring>

#include "simulator/simt/ordinary_operands.h"

namespace pagelab::simt {
namespace {

constexpr int kFractionBits = 25;  // of MmaRules
constexpr int kLowestExponent = -100;
constexpr int kHighestExponent = kFractionBits;

using namespace ordinary;

// Of each of a row's eight results, the largest exponents of its products: a byte for k, k + 4, …, and so on.
template <int kDepth>
[[gnu::always_inline]] inline __m256i product_exponents(const Operands<kDepth>& operands, int row) {
  const auto sums = [&](int k) {
    int four;
    std::memcpy(&four, &operands.a_exponents[row][k], sizeof four);
    return _mm256_adds_epi8(_mm256_set1_epi32(four), load(operands.b_exponents[k / 4]));
  };
  __m256i largest = sums(0);
#pragma GCC unroll 4
  for (int k = 4; k < kDepth; k += 4) largest = _mm256_max_epi8(largest, sums(k));
  return largest;
}

// From here on the exponents of two rows' results share a register, one row's in the lower halves of 32 bits
// and the other's in the upper ones, and stand in these 16 bits as in a float's upper half: 7 bits from below.
constexpr int kExponentPlace = 7;

__m256i exponents_of_c(const float (&lower_row)[8], const float (&upper_row)[8]) {
  const __m256i lower = _mm256_srli_epi32(load(lower_row), 16);
  const __m256i upper_halves = _mm256_blend_epi16(lower, load(upper_row), 0b10101010);
  const __m256i fields = _mm256_and_si256(upper_halves, _mm256_set1_epi16(0x7f80));
  return _mm256_sub_epi16(fields, _mm256_set1_epi16(kBias << kExponentPlace));
}

// E of rows `row` and `row` + 1.
template <int kDepth>
[[gnu::always_inline]] inline __m256i largest_exponents(const Operands<kDepth>& operands,
                                                        const float (&c)[16][8],
                                                        int row) {
  const __m256i lower = product_exponents(operands, row);
  const __m256i upper = product_exponents(operands, row + 1);
  const __m256i first_halves = _mm256_blend_epi16(lower, _mm256_slli_epi32(upper, 16), 0b10101010);
  const __m256i last_halves = _mm256_blend_epi16(_mm256_srli_epi32(lower, 16), upper, 0b10101010);
  const __m256i two_bytes = _mm256_max_epi8(first_halves, last_halves);
  const __m256i in_upper_byte = _mm256_max_epi8(two_bytes, _mm256_slli_epi16(two_bytes, 8));
  const __m256i in_place = _mm256_srai_epi16(in_upper_byte, 8 - kExponentPlace);
  const __m256i of_products = _mm256_and_si256(in_place, _mm256_set1_epi16(-1 << kExponentPlace));
  return _mm256_max_epi16(of_products, exponents_of_c(c[row], c[row + 1]));
}

// Whether what has an E below −100 is zero: the products are if their factors are not below 2^-50.
template <MmaInput kInput, int kDepth>
bool have_nothing_small(const std::uint16_t (&a)[16][kDepth],
                        const std::uint16_t (&b)[kDepth][8],
                        const float (&c)[16][8]) {
  if (!are_zero_or_at_least(0x1p-100f, c)) return false;
  if (kInput == MmaInput::kFloat16) return true;
  constexpr std::uint16_t kLeast = (kBias + kLowestExponent / 2) << 7;
  return are_zero_or_at_least(kLeast, &a[0][0], 16 * kDepth) &&
         are_zero_or_at_least(kLeast, &b[0][0], kDepth * 8);
}

// The shift of each result: 25 − E where a float has its exponent.
struct Shifts {
  alignas(32) std::uint32_t of[16][8];
};

// Returns whether every E is in bounds, or below them because all terms are zero.
template <MmaInput kInput, int kDepth>
bool find_shifts(const std::uint16_t (&a)[16][kDepth],
                 const std::uint16_t (&b)[kDepth][8],
                 const float (&c)[16][8],
                 const Operands<kDepth>& operands,
                 Shifts& shifts) {
  const __m256i lowest = _mm256_set1_epi16(kLowestExponent * (1 << kExponentPlace));
  const __m256i highest = _mm256_set1_epi16(kHighestExponent << kExponentPlace);
  __m256i smallest_of_all = highest;
  __m256i largest_of_all = lowest;
#pragma GCC unroll 1
  for (int row = 0; row < 16; row += 2) {
    const __m256i exponents = largest_exponents(operands, c, row);
    smallest_of_all = _mm256_min_epi16(smallest_of_all, exponents);
    largest_of_all = _mm256_max_epi16(largest_of_all, exponents);
    const __m256i both = _mm256_sub_epi16(highest, _mm256_max_epi16(exponents, lowest));
    store(shifts.of[row], _mm256_slli_epi32(both, 16));
    store(shifts.of[row + 1],
          _mm256_and_si256(both, _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
  }
  if (!is_all_zero(_mm256_cmpgt_epi16(largest_of_all, highest))) return false;
  return is_all_zero(_mm256_cmpgt_epi16(lowest, smallest_of_all)) ||
         have_nothing_small<kInput>(a, b, c);
}

// A term in whole units.
__m256i units_of(__m256 number, __m256i shift) {
  const __m256i shifted = _mm256_add_epi32(_mm256_castps_si256(number), shift);
  return _mm256_cvttps_epi32(_mm256_castsi256_ps(shifted));
}

// 2^(E − 25), the size of a unit.
__m256 size_of_unit(__m256i shift) {
  return _mm256_castsi256_ps(_mm256_sub_epi32(_mm256_set1_epi32(kBias << 23), shift));
}

// So many rows at a time find enough registers, and together load a row of B once.
constexpr int kRowsAtATime = 4;

// The sums of the rows from `row` on, C included, which lose what is beyond 32 bits. GCC would add sixteen
// terms in a tree, for which there are too few registers, so it is not to see all of them.
template <int kDepth>
[[gnu::always_inline]] inline void add_terms(const Operands<kDepth>& operands,
                                             const float (&c)[16][8],
                                             int row,
                                             const __m256i (&shifts)[kRowsAtATime],
                                             __m256i (&sums)[kRowsAtATime]) {
#pragma GCC unroll 4
  for (int next = 0; next < kRowsAtATime; ++next) {
    sums[next] = units_of(_mm256_loadu_ps(c[row + next]), shifts[next]);
  }
#pragma GCC unroll 2
  for (int k = 0; k < kDepth; ++k) {
    const __m256 b = _mm256_load_ps(operands.b[k]);
#pragma GCC unroll 4
    for (int next = 0; next < kRowsAtATime; ++next) {
      const __m256 product = _mm256_mul_ps(_mm256_broadcast_ss(&operands.a[row + next][k]), b);
      sums[next] = _mm256_add_epi32(sums[next], units_of(product, shifts[next]));
    }
  }
}

// C is below 2^26 units, so a sum that lost something is now among those within 2^26 of ±2^31.
bool may_have_lost(const __m256i (&sums)[kRowsAtATime]) {
  __m256i largest = _mm256_setzero_si256();
#pragma GCC unroll 4
  for (const __m256i& sum : sums) largest = _mm256_max_epu32(largest, _mm256_abs_epi32(sum));
  const __m256i with_margin = _mm256_add_epi32(largest, _mm256_set1_epi32(1 << 26));
  return _mm256_movemask_ps(_mm256_castsi256_ps(with_margin)) != 0;  // the signs
}

// Whole units as float32, cut off towards zero to its 24 bits: without the first bit beyond them,
// which lies 24 below the leading one, the conversion cannot round up.
__m256 cut_off_to_float(__m256i units) {
  const __m256i magnitude = _mm256_abs_epi32(units);
  const __m256i kept = _mm256_andnot_si256(_mm256_srli_epi32(magnitude, 24), magnitude);
  return _mm256_cvtepi32_ps(_mm256_sign_epi32(kept, units));
}

// A row that is left to the specification.
template <MmaInput kInput, int kDepth>
[[gnu::noinline]] void compute_by_the_rules(const std::uint16_t (&a)[kDepth],
                                            const std::uint16_t (&b)[kDepth][8],
                                            const float (&c)[8],
                                            float (&d)[8]) {
  for (int column = 0; column < 8; ++column) {
    std::uint16_t b_column[kDepth];
    for (int k = 0; k < kDepth; ++k) b_column[k] = b[k][column];
    d[column] = mma_by_the_rules(a, b_column, kDepth, c[column], kInput);
  }
}

}  // namespace

template <MmaInput kInput, int kDepth>
bool mma_of_ordinary_numbers(const std::uint16_t (&a)[16][kDepth],
                             const std::uint16_t (&b)[kDepth][8],
                             const float (&c)[16][8],
                             float (&d)[16][8]) {
  Operands<kDepth> operands;
  const __m256i fields_of_a = convert_a<kInput>(a, operands);
  const __m256i fields_of_b = convert_b<kInput>(b, operands);
  if (!is_all_zero(excess_of_fields<kInput>(_mm256_max_epu8(fields_of_a, fields_of_b))))
    return false;
  Shifts shifts;
  if (!find_shifts<kInput>(a, b, c, operands, shifts)) return false;
  for (int row = 0; row < 16; row += kRowsAtATime) {
    __m256i shifts_of_rows[kRowsAtATime];
    __m256i sums[kRowsAtATime];
#pragma GCC unroll 4
    for (int next = 0; next < kRowsAtATime; ++next)
      shifts_of_rows[next] = load(shifts.of[row + next]);
    add_terms(operands, c, row, shifts_of_rows, sums);
    if (may_have_lost(sums)) {
      for (int next = row; next < row + kRowsAtATime; ++next) {
        compute_by_the_rules<kInput>(a[next], b, c[next], d[next]);
      }
      continue;
    }
#pragma GCC unroll 4
    for (int next = 0; next < kRowsAtATime; ++next) {
      const __m256 size = size_of_unit(shifts_of_rows[next]);
      _mm256_storeu_ps(d[row + next], _mm256_mul_ps(cut_off_to_float(sums[next]), size));
    }
  }
  return true;
}

template bool mma_of_ordinary_numbers<MmaInput::kBFloat16>(const std::uint16_t (&)[16][16],
                                                           const std::uint16_t (&)[16][8],
                                                           const float (&)[16][8],
                                                           float (&)[16][8]);
template bool mma_of_ordinary_numbers<MmaInput::kFloat16>(const std::uint16_t (&)[16][16],
                                                          const std::uint16_t (&)[16][8],
                                                          const float (&)[16][8],
                                                          float (&)[16][8]);
template bool mma_of_ordinary_numbers<MmaInput::kBFloat16>(const std::uint16_t (&)[16][8],
                                                           const std::uint16_t (&)[8][8],
                                                           const float (&)[16][8],
                                                           float (&)[16][8]);
template bool mma_of_ordinary_numbers<MmaInput::kFloat16>(const std::uint16_t (&)[16][8],
                                                          const std::uint16_t (&)[8][8],
                                                          const float (&)[16][8],
                                                          float (&)[16][8]);

}  // namespace pagelab::simt
