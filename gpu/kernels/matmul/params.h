/// \file
/// What the matmul launchers get.
#pragma once

#include <cstdint>

#include "gpu/kernels/launch_checks.h"

namespace pagelab {

/// A matrix product. Plain data; pointers are device addresses.
/// \tparam Element  of A and B: float for rungs 1 and 2, BFloat16 for rung 3
template <typename Element>
struct MatmulParams {
  const Element* a = nullptr;  ///< [m, k]
  const Element* b = nullptr;  ///< [k, n]
  float* c = nullptr;          ///< [m, n] the result
  std::int64_t m = 0;          ///< rows of A and C
  std::int64_t n = 0;          ///< columns of B and C
  std::int64_t k = 0;          ///< columns of A, rows of B; for 0 all of C is 0
  unsigned int tile = 32;      ///< rows and columns of a thread block's part of C: 8, 16 or 32
};

inline namespace PAGELAB_TARGET {

/// Checks what a matrix product was asked for, but for the tile.
/// \param kernel  name for messages
/// \param params  what it gets
/// \throws Error  if it cannot be launched
template <typename Element>
void require_matmul(const char* kernel, const MatmulParams<Element>& params) {
  constexpr std::int64_t kMostTilesInY = 65535;  // of a grid
  require_range(kernel, "m", params.m, 0, kMostTilesInY * 8);
  require_range(kernel, "n", params.n, 0, std::int64_t{1} << 30);
  require_range(kernel, "k", params.k, 0, std::int64_t{1} << 30);
  require_array(kernel, "a", params.a, params.m * params.k);
  require_array(kernel, "b", params.b, params.k * params.n);
  require_array(kernel, "c", params.c, params.m * params.n);
}

/// Checks the tile of the kernels whose thread blocks have a thread for each of its elements.
/// \param kernel  name for messages
/// \param tile    its rows and columns
/// \throws Error  unless it is 8, 16 or 32
inline void require_tile(const char* kernel, unsigned int tile) {
  if (tile == 8 || tile == 16 || tile == 32) return;
  throw Error(std::string(kernel) + ": tile is " + std::to_string(tile) +
              ", but it must be 8, 16 or 32.");
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
