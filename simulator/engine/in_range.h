/// \file
/// How the engine checks numbers that a user gave. Products of sizes must fit an int64, so sizes have an upper bound
/// that no real model or GPU comes near.
#pragma once

#include <cstdint>

#include "reference/contract/refuse.h"

namespace pagelab {

/// The largest head size, number of heads, block size, or number of requests.
inline constexpr std::int64_t kLargestSize = 1'000'000;
/// The most tokens that anything may have.
inline constexpr std::int64_t kMostTokens = 1'000'000'000;

/// Checks that a number is within bounds, both included.
/// \param name   as the user knows it
/// \param value  what was given
/// \param least  the smallest allowed
/// \param most   the largest allowed
/// \throws Error "name is value; it must be at least least." or "... at most most."
inline void require_in_range(const char* name,
                             std::int64_t value,
                             std::int64_t least,
                             std::int64_t most = kLargestSize) {
  if (value < least) refuse("{} is {}; it must be at least {}.", name, value, least);
  if (value > most) refuse("{} is {}; it must be at most {}.", name, value, most);
}

}  // namespace pagelab
