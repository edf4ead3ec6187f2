// Wrong in task 2: added in double, without cutting anything off, and rounded to nearest.
// Everything else is the solution's.
#pragma once

#include "lessons/07_tensor_cores/answer.h"

#define mma_element right_mma_element
#include "lessons/07_tensor_cores/solution.h"
#undef mma_element

namespace pagelab::lesson_07 {
inline namespace PAGELAB_TARGET {

inline float mma_element(const std::uint16_t* a, const std::uint16_t* b, float c) {
  double sum = c;
  for (int k = 0; k < 16; ++k) {
    const double a_element = float_from_bits(static_cast<std::uint32_t>(a[k]) << 16);
    const double b_element = float_from_bits(static_cast<std::uint32_t>(b[k]) << 16);
    sum = sum + a_element * b_element;
  }
  return static_cast<float>(sum);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_07
