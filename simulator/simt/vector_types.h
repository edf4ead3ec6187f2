/// \file
/// CUDA's short vectors: two or four numbers that one instruction loads or stores, at an address that
/// is a multiple of their size. A kernel that reads a float4 makes one access of 16 bytes.
#pragma once

namespace pagelab::simt {

// NOLINTBEGIN(readability-identifier-naming): CUDA's names.
/// Defines a vector of two and one of four numbers, and the functions that make them.
#define PAGELAB_VECTORS_OF(Number, name)                               \
  struct alignas(2 * sizeof(Number)) name##2 {                         \
    Number x, y;                                                       \
  };                                                                   \
  struct alignas(4 * sizeof(Number)) name##4 {                         \
    Number x, y, z, w;                                                 \
  };                                                                   \
  inline name##2 make_##name##2(Number x, Number y) { return {x, y}; } \
  inline name##4 make_##name##4(Number x, Number y, Number z, Number w) { return {x, y, z, w}; }

PAGELAB_VECTORS_OF(int, int)
PAGELAB_VECTORS_OF(unsigned int, uint)
PAGELAB_VECTORS_OF(float, float)
#undef PAGELAB_VECTORS_OF
// NOLINTEND(readability-identifier-naming)

}  // namespace pagelab::simt
