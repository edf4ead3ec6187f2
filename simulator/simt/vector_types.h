/// \file
/// CUDA's short vectors: two or four numbers that one instruction loads or stores, at an address that
/// is a multiple of their size. A kernel that reads a float4 makes one access of 16 bytes.
///
/// That is why their copies are written out: left to itself, the compiler may copy a structure number
/// by number, and the checks would see four accesses of 4 bytes.
#pragma once

namespace pagelab::simt {

// NOLINTBEGIN(readability-identifier-naming): CUDA's names.
/// A vector's bytes, loaded and stored at once; it may stand for numbers of any type.
template <int kBytes>
struct WholeVector {
  /// The compiler's own vector type.
  using Bytes [[gnu::vector_size(kBytes), gnu::may_alias]] = char;
};

/// How a vector is made, and copied as a whole.
#define PAGELAB_COPIED_AS_A_WHOLE(Vector, bytes)                               \
  Vector() = default;                                                          \
  [[gnu::always_inline]] Vector(const Vector& other) { *this = other; }        \
  [[gnu::always_inline]] Vector& operator=(const Vector& other) {              \
    using Bytes = WholeVector<bytes>::Bytes;                                   \
    *reinterpret_cast<Bytes*>(this) = *reinterpret_cast<const Bytes*>(&other); \
    return *this;                                                              \
  }

/// Defines a vector of two and one of four numbers, and the functions that make them.
#define PAGELAB_VECTORS_OF(Number, name)                                                         \
  struct alignas(2 * sizeof(Number)) name##2 {                                                   \
    Number x, y;                                                                                 \
    [[gnu::always_inline]] name##2(Number x, Number y) : x(x), y(y) {}                           \
    PAGELAB_COPIED_AS_A_WHOLE(name##2, 2 * sizeof(Number))                                       \
  };                                                                                             \
  struct alignas(4 * sizeof(Number)) name##4 {                                                   \
    Number x, y, z, w;                                                                           \
    [[gnu::always_inline]] name##4(Number x, Number y, Number z, Number w)                       \
        : x(x), y(y), z(z), w(w) {}                                                              \
    PAGELAB_COPIED_AS_A_WHOLE(name##4, 4 * sizeof(Number))                                       \
  };                                                                                             \
  [[gnu::always_inline]] inline name##2 make_##name##2(Number x, Number y) { return {x, y}; }    \
  [[gnu::always_inline]] inline name##4 make_##name##4(Number x, Number y, Number z, Number w) { \
    return {x, y, z, w};                                                                         \
  }

PAGELAB_VECTORS_OF(int, int)
PAGELAB_VECTORS_OF(unsigned int, uint)
PAGELAB_VECTORS_OF(float, float)
#undef PAGELAB_VECTORS_OF
#undef PAGELAB_COPIED_AS_A_WHOLE
// NOLINTEND(readability-identifier-naming)

}  // namespace pagelab::simt
