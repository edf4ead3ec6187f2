/// \file
/// The number by which the engine's parts know a physical block.
#pragma once

#include <cstdint>

namespace pagelab {

/// A physical block's index in the pool.
using BlockId = std::int32_t;

/// Stands in a block table where a request has no block: padding, and what a window has left behind.
/// It is never handed out, freed or given a key.
inline constexpr BlockId kNullBlock = 0;

}  // namespace pagelab
