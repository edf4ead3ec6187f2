/// \file
/// Old values and operands for the atomics of atomics.cu.
#pragma once

#include <cstdint>

#include "tests/gpu/words/word_inputs.h"

namespace pagelab::test {
inline namespace PAGELAB_TARGET {

/// The operations, in the order of the results.
enum AtomicOperation : int {
  kAdd,
  kSub,
  kMin,
  kMax,
  kExchange,
  kAnd,
  kOr,
  kXor,
  kIncrement,
  kDecrement,
  kCompareAndSwap,
  kNumAtomics
};

/// What the memory holds, and the operand.
struct AtomicPair {
  std::uint64_t old_bits;      ///< before
  std::uint64_t operand_bits;  ///< with it
};

/// Pairs an operation is tried on.
constexpr int kNumAtomicPairs = 10;

/// A pair of integers; the low half counts for those of 32 bits.
PAGELAB_HD inline AtomicPair integer_pair(std::uint64_t seed, unsigned int thread, int index) {
  constexpr std::uint64_t kAllOnes = ~std::uint64_t{0};
  switch (index) {
    case 0:
      return {10, 1};  // S2
    case 1:
      return {kAllOnes, 1};  // wraps around
    case 2:
      return {0, 5};
    case 3:
      return {7, 5};
    case 4:
      return {5, 5};
    case 5:
      return {0x7fffffff7fffffffu, 1};  // the largest with a sign, in the low half
    case 6:
      return {0x8000000080000000u, kAllOnes};
    default:
      return {drawn(seed, thread, 2 * index), drawn(seed, thread, 2 * index + 1)};
  }
}

/// A pair of floats.
PAGELAB_HD inline AtomicPair float_pair(std::uint64_t seed, unsigned int thread, int index) {
  constexpr std::uint64_t kOne = 0x3f800000u;
  constexpr std::uint64_t kLargest = 0x7f7fffffu;
  constexpr std::uint64_t kSmallestNormal = 0x00800000u;
  const std::uint64_t fraction = drawn(seed, thread, 2 * index) & 0x807fffffu;
  const std::uint64_t other = drawn(seed, thread, 2 * index + 1) & 0x807fffffu;
  switch (index) {
    case 0:
      return {0x41200000u, kOne};  // 10 and 1: S2
    case 1:
      return {0x80000000u, 0x80000000u};  // −0 and −0
    case 2:
      return {0x80000000u, 0};  // −0 and 0
    case 3:
      return {kLargest, kLargest};  // overflows
    case 4:
      return {fraction & 0x007fffffu, other & 0x007fffffu};  // subnormal numbers
    case 5:
      return {kSmallestNormal | 1u, 0x80000000u | kSmallestNormal};  // the sum is subnormal
    case 6:
      return {kOne, fraction & 0x007fffffu};
    case 7:
      return {0x7f800000u, 0xff800000u};  // ∞ and −∞
    case 8:
      return {0x7fc12345u, kOne};  // a NaN
    default:
      return {fraction | 0x3f800000u, other | 0x3d000000u};  // rounds
  }
}

/// A pair of doubles.
PAGELAB_HD inline AtomicPair double_pair(std::uint64_t seed, unsigned int thread, int index) {
  constexpr std::uint64_t kOne = 0x3ff0000000000000u;
  constexpr std::uint64_t kSign = 0x8000000000000000u;
  constexpr std::uint64_t kLargest = 0x7fefffffffffffffu;
  constexpr std::uint64_t kSmallestNormal = 0x0010000000000000u;
  const std::uint64_t fraction = drawn(seed, thread, 2 * index) & 0x800fffffffffffffu;
  const std::uint64_t other = drawn(seed, thread, 2 * index + 1) & 0x800fffffffffffffu;
  switch (index) {
    case 0:
      return {0x4024000000000000u, kOne};
    case 1:
      return {kSign, kSign};
    case 2:
      return {kSign, 0};
    case 3:
      return {kLargest, kLargest};
    case 4:
      return {fraction & ~kSign, other & ~kSign};
    case 5:
      return {kSmallestNormal | 1u, kSign | kSmallestNormal};
    case 6:
      return {kOne, fraction & ~kSign};
    case 7:
      return {0x7ff0000000000000u, 0xfff0000000000000u};
    case 8:
      return {0x7ff8123456789abcu, kOne};
    default:
      return {fraction | kOne, other | 0x3fa0000000000000u};
  }
}

/// Pairs for a type.
/// \param seed    of the run
/// \param thread  index of the thread in the grid
/// \param index   which
/// \param type    0 integer, 1 float, 2 double
PAGELAB_HD inline AtomicPair atomic_pair(std::uint64_t seed,
                                         unsigned int thread,
                                         int index,
                                         int type) {
  switch (type) {
    case 1:
      return float_pair(seed, thread, index);
    case 2:
      return double_pair(seed, thread, index);
    default:
      return integer_pair(seed, thread, index);
  }
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::test
