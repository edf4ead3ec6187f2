// Lesson 07, a solution. There are others: the check judges what the functions return and the kernels do.
// No #pragma once: the tests include it once for each wrong answer, which differs from it in one function.

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/device/ldmatrix.h"
#include "gpu/device/mma.h"
#include "lessons/07_tensor_cores/answer.h"
#include "lessons/checker/not_solved.h"

namespace pagelab::lesson_07 {
inline namespace PAGELAB_TARGET {

using lessons::NotSolved;

inline Parts product_of(std::uint16_t a, std::uint16_t b) {
  const int a_field = a >> 7 & 0xff;
  const int b_field = b >> 7 & 0xff;
  // The 1 before the point is not stored; a number with the field 0 has none (here: it is zero).
  const std::int64_t a_significand = a_field == 0 ? 0 : (a & 0x7f) | 0x80;
  const std::int64_t b_significand = b_field == 0 ? 0 : (b & 0x7f) | 0x80;
  Parts product;
  product.is_negative = (a >> 15) != (b >> 15);
  // 8 bits times 8 bits are 16: nothing is rounded. It may be 2 or more; the exponent stays all the same.
  product.significand = a_significand * b_significand;
  product.exponent = (a_field - 127) + (b_field - 127);
  product.fraction_bits = 7 + 7;
  return product;
}

inline float mma_element(const std::uint16_t* a, const std::uint16_t* b, float c) {
  Parts terms[17];
  for (int k = 0; k < 16; ++k) terms[k] = product_of(a[k], b[k]);
  terms[16] = parts_of_float(c);

  // E, the largest exponent. Zeros have none.
  bool has_term = false;
  int largest_exponent = 0;
  for (const Parts& term : terms) {
    if (term.significand == 0) continue;
    if (!has_term || term.exponent > largest_exponent) largest_exponent = term.exponent;
    has_term = true;
  }
  if (!has_term) return 0.0f;

  // Every term as a multiple of 2^(E − 25). What is smaller is cut off, of the magnitude: towards zero.
  const int unit_exponent = largest_exponent - 25;
  std::int64_t sum = 0;
  for (const Parts& term : terms) {
    if (term.significand == 0) continue;  // its exponent may be above E
    const int shift = term.exponent - term.fraction_bits - unit_exponent;
    std::int64_t multiple = 0;
    if (shift >= 0) {
      multiple = term.significand << shift;
    } else if (shift > -63) {
      multiple = term.significand >> -shift;
    }
    sum = term.is_negative ? sum - multiple : sum + multiple;
  }
  // Integers add up exactly, so their order does not matter. Only now comes the cut to a float.
  return float_cut_off(sum, unit_exponent);
}

// One warp. Lane 4 · group + pair has two neighbouring elements in each register.
__global__ void multiply_tile(TileParams params) {
  const int group = threadIdx.x / 4;
  const int pair = threadIdx.x % 4;

  // C and D: columns 2·pair and 2·pair + 1 of rows group and group + 8.
  float c[4];
  for (int part = 0; part < 4; ++part) {
    const int row = group + part / 2 * 8;
    const int column = 2 * pair + part % 2;
    c[part] = params.c[row * 8 + column];
  }

  // A: the same columns of the same rows, and then those 8 columns further right.
  std::uint32_t a[4];
  for (int i = 0; i < 4; ++i) {
    const int row = group + i % 2 * 8;
    const int k = 2 * pair + i / 2 * 8;
    a[i] = pair_of(params.a[row * 16 + k], params.a[row * 16 + k + 1]);
  }

  // B: column group; neighbours in a register are neighbours in k, which are rows of B.
  std::uint32_t b[2];
  for (int i = 0; i < 2; ++i) {
    const int k = 2 * pair + i * 8;
    b[i] = pair_of(params.b[k * 8 + group], params.b[(k + 1) * 8 + group]);
  }

  float d[4];
  mma_m16n8k16_bf16(d, a, b, c);
  for (int part = 0; part < 4; ++part) {
    const int row = group + part / 2 * 8;
    const int column = 2 * pair + part % 2;
    params.d[row * 8 + column] = d[part];
  }
}

inline void launch_multiply_tile(const TileParams& params) {
  launch("multiply_tile", 1, 32, multiply_tile, params);
}

// A row is 64 bytes, so rows 0, 2, 4 and 6 begin in bank 0, the others in bank 16. Rows of the same parity have to
// differ, and they do in row / 2; within a row, xor with one number only exchanges places.
PAGELAB_HD inline int place_of(int row, int chunk) { return chunk ^ (row / 2 % 4); }

// One warp. A row of the tile is 64 bytes, half of the 32 banks.
__global__ void load_fragments(LoadParams params) {
  __shared__ uint4 tile[kRows * kChunks];
  const int lane_idx = threadIdx.x;

  // A lane a chunk: 16 bytes from global to shared memory.
  const uint4* global = reinterpret_cast<const uint4*>(params.tile);
  for (int i = lane_idx; i < kRows * kChunks; i += 32) {
    const int row = i / kChunks;
    const int chunk = i % kChunks;
    const uint4 eight_elements = global[i];
    tile[row * kChunks + place_of(row, chunk)] = eight_elements;
  }
  __syncthreads();

  // An ldmatrix for each 16 columns. Lanes 0 to 7 give the addresses of rows 0 to 7, lanes 8 to 15 those
  // of rows 8 to 15, both for the left chunk; lanes 16 to 31 the same for the right one.
  for (int step = 0; step < kElements / 16; ++step) {
    const int row = lane_idx % 16;
    const int chunk = 2 * step + lane_idx / 16;
    std::uint32_t a[4];
    ldmatrix_x4(a, &tile[row * kChunks + place_of(row, chunk)]);
    for (int i = 0; i < 4; ++i) {
      float* fragment = params.fragments + ((step * 32 + lane_idx) * 4 + i) * 2;
      fragment[0] = first_of(a[i]);
      fragment[1] = second_of(a[i]);
    }
  }
}

inline void launch_load_fragments(const LoadParams& params) {
  launch("load_fragments", 1, 32, load_fragments, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_07
