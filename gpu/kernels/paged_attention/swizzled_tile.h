/// \file
/// A tile of keys or values in shared memory, as tensor cores want it: copied from the cache 16 bytes at a
/// time, in an order in which ldmatrix reads it without bank conflicts.
///
/// A row of a tile, one token's key or value, is a number of chunks of 16 bytes; chunk c of row r lies in place
/// c xor (r mod 8):
///
///     place   0 1 2 3 4 5 6 7        ldmatrix takes the same chunk of eight rows at once. So they lie
///     row 0   0 1 2 3 4 5 6 7        in eight different places, which are all 32 banks: no conflict.
///     row 1   1 0 3 2 5 4 7 6
///     row 2   2 3 0 1 6 7 4 5   …
#pragma once

#include <cstdint>

#include "gpu/device/cp_async.h"
#include "gpu/device/keywords.h"
#include "gpu/device/unroll.h"
#include "gpu/kernels/paged_attention/tensor_core_operands.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// Elements of 16 bits in a chunk.
inline constexpr int kChunkElements = 8;

/// Where a chunk of a row lies, in elements from the first of a tile whose rows have kHead elements.
///
/// Chunk c + d lies where chunk c does, xor d chunks, if c is less than d and d a power of two or a sum of such:
/// (c + d) xor r = (c xor r) xor d. That is how a lane steps through a row without computing places anew.
/// \tparam kHead  64 or more, a power of two
/// \param row     of the tile
/// \param chunk   of the row
template <int kHead>
__device__ __forceinline__ int swizzled(int row, int chunk) {
  return row * kHead + (chunk ^ (row & 7)) * kChunkElements;
}

/// Begins to bring one chunk of a row into shared memory: a copy for elements of 16 bits, a conversion for
/// fp8. Chunks that do not exist become zeros: what lies in their place may be anything.
/// \param shared  where it goes
/// \param global  where it is; if it does not exist, any multiple of 16 bytes
/// \param exists  whether it is read
template <typename Operand, typename Stored>
__device__ __forceinline__ void begin_chunk(Operand* shared, const Stored* global, bool exists) {
  if constexpr (kIsSame<Operand, Stored>) {
    cp_async<16>(shared, global, exists ? 16 : 0);
  } else {
    std::uint32_t* words = reinterpret_cast<std::uint32_t*>(shared);
    PAGELAB_UNROLL for (int word = 0; word < 4; ++word) {
      words[word] = exists ? pair_of<Operand>(global[2 * word], global[2 * word + 1]) : 0u;
    }
  }
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
