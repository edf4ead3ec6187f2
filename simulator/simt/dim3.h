/// \file
/// CUDA's coordinates on a CPU: how large grid and thread block are, and which thread is running.
/// Names are CUDA's, so that kernels read as they do on a GPU; cuda_words.h makes them global.
#pragma once

#include <cstdint>
#include <string>

namespace pagelab::simt {

/// Where a thread or thread block is, or how many there are, in three directions; x runs fastest.
struct uint3 {
  unsigned int x = 0;  ///< fastest
  unsigned int y = 0;  ///< second
  unsigned int z = 0;  ///< slowest
};

/// An extent: CUDA's dim3, whose missing directions are 1.
struct dim3 {
  unsigned int x = 1;  ///< fastest
  unsigned int y = 1;  ///< second
  unsigned int z = 1;  ///< slowest

  /// An extent of one, or of the directions that are given.
  constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}

  /// Points in this extent.
  constexpr std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

/// The coordinates that lie at this place when an extent is walked with x fastest.
uint3 coordinates_of(std::uint64_t flat_index, dim3 extent);

/// "(3, 0, 1)".
std::string to_string(uint3 coordinates);
/// "(3, 1, 1)".
std::string to_string(dim3 extent);

extern constinit thread_local uint3 threadIdx;  ///< this thread within its thread block
extern constinit thread_local uint3 blockIdx;   ///< this thread block within the grid
extern constinit thread_local dim3 blockDim;    ///< threads of a thread block
extern constinit thread_local dim3 gridDim;     ///< thread blocks of the grid

}  // namespace pagelab::simt
