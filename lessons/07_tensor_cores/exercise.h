// Lesson 07, the exercise: one element of an mma by its rules, a warp that feeds an mma, and a tile without
// bank conflicts. Fill the gaps TODO(1) and TODO(2) in place of the lines that throw; for TODO(3) and
// TODO(4) delete the line that throws and change what stands above it. Then run ./pagelab check 7. The
// text is in README.md, hints are in hints.md.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/device/ldmatrix.h"
#include "gpu/device/mma.h"
#include "lessons/07_tensor_cores/answer.h"
#include "lessons/checker/not_solved.h"

namespace pagelab::lesson_07 {
inline namespace PAGELAB_TARGET {

using lessons::NotSolved;

/// Task 1: the product of two bfloat16 numbers, exactly, with the exponent that a tensor core gives it: the
/// sum of both exponents, whatever the significand. Its fraction_bits are 14.
/// \param a  bits: a sign, 8 of exponent + 127, 7 of fraction; 0, or a normal number
/// \param b  the same
/// \returns  of a zero operand: a significand of 0
inline Parts product_of(std::uint16_t a, std::uint16_t b) {
  throw NotSolved{"07", 1};  // TODO(1)
}

/// Task 2: c + Σ a[k] · b[k], with the bits of an H200's tensor core.
/// \param a  [16] a row of A, as bits; zeros and normal numbers
/// \param b  [16] a column of B, likewise
/// \param c  0, or a normal number, and so is the result
inline float mma_element(const std::uint16_t* a, const std::uint16_t* b, float c) {
  throw NotSolved{"07", 2};  // TODO(2)
}

// Task 3: one warp multiplies a tile.
//
// C and D are where they should be. The fragments of A and B hold zeros: fill them. The drawing in
// gpu/device/mma.h says which lane holds what.
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

  std::uint32_t a[4] = {};
  std::uint32_t b[2] = {};

  float d[4];
  mma_m16n8k16_bf16(d, a, b, c);
  for (int part = 0; part < 4; ++part) {
    const int row = group + part / 2 * 8;
    const int column = 2 * pair + part % 2;
    params.d[row * 8 + column] = d[part];
  }
}

inline void launch_multiply_tile(const TileParams& params) {
  throw NotSolved{"07", 3};  // TODO(3): a and b
  launch("multiply_tile", 1, 32, multiply_tile, params);
}

// Task 4: where a chunk of a row lies in shared memory.
//
// The text has rows of 128 bytes, a head of 64. Here the head has 32 elements: a row is four chunks, 64 bytes,
// and two rows lie in the 128 bytes of all banks. Chunk c of row r lies in place c, so ldmatrix, which takes the
// same chunk of eight rows, finds four of them in the same banks. Give every chunk another place of its row, 0
// to 3, such that the same chunk of rows 0 to 7, and of rows 8 to 15, lies in eight different quadruples of
// banks.
PAGELAB_HD inline int place_of(int row, int chunk) { return chunk; }

// One warp. A row of the tile is 64 bytes, half of the 32 banks. This kernel stays as it is.
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
  throw NotSolved{"07", 4};  // TODO(4): place_of
  launch("load_fragments", 1, 32, load_fragments, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_07
