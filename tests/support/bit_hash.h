/// \file
/// One number that stands for the bits of very many results. The hash of a set of (input, result)
/// pairs is the wrap-around sum of the pairs' own hashes, so it does not depend on their order: two
/// CPU threads and a hundred thousand GPU threads, each adding up a share of its own, get the same.
#pragma once

#include <cstdint>

#include "reference/numerics/target.h"

namespace pagelab::test {
inline namespace PAGELAB_TARGET {

/// Spreads every bit of a word over all 64: the finaliser of SplitMix64.
/// \source  Steele, Lea and Flood (2014), "Fast splittable pseudorandom number generators"
PAGELAB_HD inline std::uint64_t mix64(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ull;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebull;
  return word ^ (word >> 31);
}

/// What one pair adds to the hash.
PAGELAB_HD inline std::uint64_t hash_of_pair(std::uint32_t input_bits, std::uint32_t result_bits) {
  return mix64((static_cast<std::uint64_t>(input_bits) << 32) | result_bits);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::test
