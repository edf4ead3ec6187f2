// Wrong in task 2: half a unit is rounded up where it should be cut off.
// Everything else is the solution's.
#pragma once

#include "lessons/07_tensor_cores/answer.h"

#define mma_element right_mma_element
#include "lessons/07_tensor_cores/solution.h"
#undef mma_element

namespace pagelab::lesson_07 {
inline namespace PAGELAB_TARGET {

inline float mma_element(const std::uint16_t* a, const std::uint16_t* b, float c) {
  Parts terms[17];
  for (int k = 0; k < 16; ++k) terms[k] = product_of(a[k], b[k]);
  terms[16] = parts_of_float(c);

  bool has_term = false;
  int largest_exponent = 0;
  for (const Parts& term : terms) {
    if (term.significand == 0) continue;
    if (!has_term || term.exponent > largest_exponent) largest_exponent = term.exponent;
    has_term = true;
  }
  if (!has_term) return 0.0f;

  const int unit_exponent = largest_exponent - 25;
  std::int64_t sum = 0;
  for (const Parts& term : terms) {
    if (term.significand == 0) continue;  // its exponent may be above E
    const int shift = term.exponent - term.fraction_bits - unit_exponent;
    std::int64_t multiple = 0;
    if (shift >= 0) {
      multiple = term.significand << shift;
    } else if (shift > -63) {
      multiple = (term.significand + (std::int64_t{1} << (-shift - 1))) >> -shift;
    }
    sum = term.is_negative ? sum - multiple : sum + multiple;
  }
  return float_cut_off(sum, unit_exponent);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_07
