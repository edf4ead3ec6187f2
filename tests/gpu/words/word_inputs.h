/// \file
/// What the kernels of word_kernels.h feed to CUDA's words: drawn numbers, masks and predicates. Kernel
/// and expectation take them from here, and nothing else: what a word makes of them is written twice.
#pragma once

#include <cstdint>

#include "tests/support/bit_hash.h"

namespace pagelab::test {
inline namespace PAGELAB_TARGET {

/// Lanes of a warp.
constexpr unsigned int kLanes = 32;

/// 64 random bits.
/// \param seed    of the run
/// \param thread  index of the thread in the grid
/// \param index   which of its numbers
PAGELAB_HD inline std::uint64_t drawn(std::uint64_t seed, unsigned int thread, int index) {
  const std::uint64_t place =
      static_cast<std::uint64_t>(thread) * 4096 + static_cast<unsigned>(index);
  return mix64(mix64(seed + 0x9e3779b97f4a7c15ull) + place);
}

/// How lanes of a warp are split in two groups that go different ways: the mask of the first.
constexpr int kNumSplits = 5;
/// \copydoc kNumSplits
PAGELAB_HD inline unsigned int first_group(int split) {
  switch (split) {
    case 1:
      return 0x55555555u;
    case 2:
      return 0x0000ffffu;
    case 3:
      return 0x80000001u;
    case 4:
      return 0x0137fec8u;
    default:
      return 0xffffffffu;  // all together
  }
}

/// The next lane of a group after this one, round to the first; of lanes that the warp has.
PAGELAB_HD inline unsigned int next_in_group(unsigned int group,
                                             unsigned int lane,
                                             unsigned int num_lanes) {
  for (unsigned int step = 1; step < kLanes; ++step) {
    const unsigned int candidate = (lane + step) % kLanes;
    if ((group >> candidate & 1u) != 0 && candidate < num_lanes) return candidate;
  }
  return lane;
}

/// Lanes of this thread's warp: less than 32 in a last, partial one.
PAGELAB_HD inline unsigned int lanes_of_warp(unsigned int thread, unsigned int num_threads) {
  const unsigned int rest = num_threads - thread / kLanes * kLanes;
  return rest < kLanes ? rest : kLanes;
}

/// Operands of a shuffle: 0 to 40, and numbers below 0 or far above.
constexpr int kNumShuffleOperands = 47;
/// \copydoc kNumShuffleOperands
PAGELAB_HD inline int shuffle_operand(int index) {
  constexpr int kFar[6] = {-1, -2, -31, -32, -33, 0x7fffffe5};
  return index <= 40 ? index : kFar[index - 41];
}

/// An operand that leads a lane of a partial warp to another lane of it.
/// \param kind       0 indexed, 1 up, 2 down, 3 xor
/// \param random     what it is drawn from
/// \param lane       whose
/// \param num_lanes  that the warp has
PAGELAB_HD inline int own_operand(int kind,
                                  unsigned int random,
                                  unsigned int lane,
                                  unsigned int num_lanes) {
  const int operand = static_cast<int>(random % kLanes);
  switch (kind) {
    case 0:
      return static_cast<int>(random % num_lanes);
    case 1:
      return operand;
    case 2:
      return static_cast<int>(random % (num_lanes - lane));
    default:
      return (lane ^ random % kLanes) < num_lanes ? operand : 0;
  }
}

/// Predicates that threads vote with; all but 0 count as true.
constexpr int kNumPredicates = 7;
/// \copydoc kNumPredicates
PAGELAB_HD inline int predicate_of(int kind,
                                   std::uint64_t seed,
                                   unsigned int thread,
                                   unsigned int num_threads) {
  switch (kind) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
      return thread % 3 == 0 ? 1 : 0;
    case 3:
      return thread + 1 == num_threads ? 2 : 0;
    case 4:
      return thread + 1 == num_threads ? 0 : -5;
    case 5:
      return (drawn(seed, thread, 99) & 1u) != 0 ? 0x40000000 : 0;
    default:
      return thread == 0 ? static_cast<int>(0x80000000u) : 0;
  }
}

/// Numbers that lanes look for their likes with.
constexpr int kNumMatches = 5;
/// The bits of one of them.
/// \param seed    of the run
/// \param thread  index of the thread in the grid
/// \param index   0 all alike, 1 all different, 2 one of three, 3 zeros of both signs and NaN, 4 those
///                that differ in the highest bit only
/// \param bytes   of the number: 4 or 8
PAGELAB_HD inline std::uint64_t match_bits(std::uint64_t seed,
                                           unsigned int thread,
                                           int index,
                                           std::uint64_t bytes) {
  const std::uint64_t random = drawn(seed, thread, index);
  const std::uint64_t highest = bytes == 4 ? 0x80000000u : 0x8000000000000000u;
  const std::uint64_t nan = bytes == 4 ? 0x7fc00000u : 0x7ff8000000000000u;
  switch (index) {
    case 0:
      return 0x12345678u;
    case 1:
      return thread;
    case 2:
      return random % 3;
    case 3:
      return random % 3 == 0 ? 0 : random % 3 == 1 ? highest : nan;
    default:
      return (random & 1u) != 0 ? highest | 5u : 5u;
  }
}

/// What use_dynamic_array puts at a place.
PAGELAB_HD inline unsigned int mixed(unsigned int place) {
  return place * 2654435761u ^ (place >> 3);
}

/// Integers whose bits are counted.
constexpr int kNumBitPatterns = 8;
/// One of them.
PAGELAB_HD inline std::uint64_t bit_pattern(std::uint64_t seed, unsigned int thread, int index) {
  const std::uint64_t random = drawn(seed, thread, index);
  switch (index) {
    case 0:
      return 0;
    case 1:
      return ~std::uint64_t{0};
    case 2:
      return 1;
    case 3:
      return 0x8000000080000000u;
    case 4:
      return std::uint64_t{1} << thread % 64;
    case 5:
      return random >> thread % 64;
    case 6:
      return random << thread % 64;
    default:
      return random;
  }
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::test
