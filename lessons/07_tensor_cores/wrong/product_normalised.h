// Wrong in task 1: a product of 2 or more gets the next exponent.
// Everything else is the solution's.
#pragma once

#include "lessons/07_tensor_cores/answer.h"

#define product_of right_product_of
#include "lessons/07_tensor_cores/solution.h"
#undef product_of

namespace pagelab::lesson_07 {
inline namespace PAGELAB_TARGET {

inline Parts product_of(std::uint16_t a, std::uint16_t b) {
  const int a_field = a >> 7 & 0xff;
  const int b_field = b >> 7 & 0xff;
  const std::int64_t a_significand = a_field == 0 ? 0 : (a & 0x7f) | 0x80;
  const std::int64_t b_significand = b_field == 0 ? 0 : (b & 0x7f) | 0x80;
  Parts product;
  product.is_negative = (a >> 15) != (b >> 15);
  product.significand = a_significand * b_significand;
  product.exponent = (a_field - 127) + (b_field - 127);
  product.fraction_bits = 7 + 7;
  if (product.significand >= 2 << 14) {
    ++product.exponent;
    ++product.fraction_bits;
  }
  return product;
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_07
