/// \file
/// Sizes that kernels and launches of this lesson share, and the lesson's namespace.
#pragma once

#include "reference/numerics/target.h"

namespace pagelab::lesson_05 {

// Each compiler's copies of the kernels lie in a namespace of their own. It is an inline one, which has to
// be said where it is first named.
inline namespace PAGELAB_TARGET {}

/// Threads of a thread block: four warps.
inline constexpr int kThreadsPerCta = 128;
/// The longest query that task 2 keeps in shared memory.
inline constexpr int kMaxHeadSize = 256;
/// Rows and columns of a tile in task 4: the lanes of a warp.
inline constexpr int kTileSize = 32;

}  // namespace pagelab::lesson_05
