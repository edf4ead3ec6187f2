/// \file
/// What the functions and kernels of the exercise get, what they may use, and how the check finds those of
/// an answer: answer.cu is compiled with it, once for each target, as any kernel is.
#pragma once

#include <cstdint>

#include "reference/numerics/float_formats.h"
#include "reference/numerics/target.h"

namespace pagelab::lesson_07 {

// Each compiler's copies of the kernels lie in a namespace of their own. It is an inline one, which has to
// be said where it is first named.
inline namespace PAGELAB_TARGET {}

/// A number taken apart: ± significand · 2^(exponent − fraction_bits). A significand of 0 is the number 0.
struct Parts {
  bool is_negative;          ///< its sign
  std::int64_t significand;  ///< an integer, 0 or more
  int exponent;              ///< of the number's own field; it says nothing if the number is 0
  int fraction_bits;         ///< of the significand that are behind the point
};

/// Task 3: d = a · b + c, by one warp and one mma.
struct TileParams {
  const std::uint16_t* a;  ///< [16, 16] bfloat16, by rows
  const std::uint16_t* b;  ///< [16, 8] bfloat16, by rows
  const float* c;          ///< [16, 8]
  float* d;                ///< [16, 8]
};

/// Rows of the tile of task 4, those of one mma.
inline constexpr int kRows = 16;
/// Elements of a row: those of a head of 32. In shared memory two rows lie in the 128 bytes of all banks.
inline constexpr int kElements = 32;
/// Elements of a chunk: 16 bytes, what one lane copies, and a row of ldmatrix.
inline constexpr int kChunkElements = 8;
/// Chunks of a row.
inline constexpr int kChunks = kElements / kChunkElements;

/// Task 4: a tile goes to shared memory, and from there into fragments.
struct LoadParams {
  const std::uint16_t* tile;  ///< [kRows, kElements] bfloat16, at a multiple of 16 bytes
  float* fragments;  ///< [kElements / 16, 32, 4, 2] of each mma, lane and register both elements
};

/// What an answer has, and where it was found.
struct Answer {
  const char* path;                                                               ///< of the file
  Parts (*product_of)(std::uint16_t a, std::uint16_t b);                          ///< task 1
  float (*mma_element)(const std::uint16_t* a, const std::uint16_t* b, float c);  ///< task 2
  void (*multiply_tile)(const TileParams& params);                                ///< task 3
  int (*place_of)(int row, int chunk);                                            ///< task 4
  void (*load_fragments)(const LoadParams& params);                               ///< task 4
};

namespace on_checked_simulator {
/// The answer, compiled with every access checked and counted.
Answer answer();
}  // namespace on_checked_simulator

namespace on_cuda {
/// The answer, compiled by nvcc. Linked only where there was one.
Answer answer();
}  // namespace on_cuda

inline namespace PAGELAB_TARGET {

/// A float taken apart: 24 bits of significand, 23 of them behind the point.
/// \param value  0, or a normal number
inline Parts parts_of_float(float value) {
  const std::uint32_t bits = bits_of(value);
  const int field = static_cast<int>(bits >> 23 & 0xffu);
  const std::int64_t fraction = bits & 0x7fffffu;
  return {(bits >> 31) != 0, field == 0 ? 0 : fraction | 1 << 23, field - 127, 23};
}

/// sum · 2^unit_exponent, cut off towards zero to the 24 bits of a float. 0 becomes +0.
/// \param sum            an integer
/// \param unit_exponent  such that the result is 0 or a normal float
inline float float_cut_off(std::int64_t sum, int unit_exponent) {
  std::int64_t magnitude = sum < 0 ? -sum : sum;
  if (magnitude == 0) return 0.0f;
  int exponent = unit_exponent + 23;  // of the leading one, once it is bit 23
  for (; magnitude >= 1 << 24; ++exponent) magnitude = magnitude >> 1;
  for (; magnitude < 1 << 23; --exponent) magnitude = magnitude << 1;
  const std::uint32_t sign = sum < 0 ? 0x80000000u : 0u;
  const std::uint32_t field = static_cast<std::uint32_t>(exponent + 127) << 23;
  return float_from_bits(sign | field | (static_cast<std::uint32_t>(magnitude) & 0x7fffffu));
}

/// Two bfloat16 elements in a register, as mma wants them.
/// \param first   the one of lower index, which goes into the lower half
/// \param second  its neighbour
PAGELAB_HD inline std::uint32_t pair_of(std::uint16_t first, std::uint16_t second) {
  return static_cast<std::uint32_t>(second) << 16 | first;
}

/// The first element of a register, as a float.
PAGELAB_HD inline float first_of(std::uint32_t pair) { return float_from_bits(pair << 16); }
/// The second one.
PAGELAB_HD inline float second_of(std::uint32_t pair) {
  return float_from_bits(pair & 0xffff0000u);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_07
