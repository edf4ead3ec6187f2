/// \file
/// What the words of the tensor cores (gpu/device/mma.h, gpu/device/ldmatrix.h) ask of the simulator
/// besides the arithmetic: that the whole warp is there, and rows of matrices from shared memory.
#pragma once

#include <cstdint>

namespace pagelab::simt {

/// Leaves the kernel unless the running thread's warp has all its 32 lanes.
/// \param word  for the message: "mma.m16n8k16.bf16"
/// \param pc    where the kernel called
void require_whole_warp(const char* word, const void* pc);

/// A row of a matrix of 8 × 8 16-bit elements.
struct MatrixRow {
  std::uint16_t elements[8] = {};  ///< in the order of memory
};

/// Reads a row of 16 bytes for the running thread, and checks that access. Leaves the kernel if the row
/// is not at a multiple of 16; in a checked launch also if it is not in shared memory.
/// \param word  for the message: "ldmatrix.x4"
/// \param row   its first byte
/// \param pc    where the kernel called
MatrixRow read_matrix_row(const char* word, const void* row, const void* pc);

}  // namespace pagelab::simt
