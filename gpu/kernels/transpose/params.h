/// \file
/// What the transpose launchers get, and the tiles that all rungs share.
#pragma once

#include <cstdint>

#include "gpu/kernels/launch_checks.h"

namespace pagelab {

/// Rows and columns of the square that one thread block transposes.
inline constexpr unsigned int kTransposeTile = 32;

/// The transpose of a matrix. Plain data; pointers are device addresses.
struct TransposeParams {
  const float* input = nullptr;        ///< [rows, columns]
  float* output = nullptr;             ///< [columns, rows]; must not be `input`
  std::int64_t rows = 0;               ///< of the input
  std::int64_t columns = 0;            ///< of the input
  unsigned int threads_per_cta = 256;  ///< a multiple of 32 from 32 to 1024
};

inline namespace PAGELAB_TARGET {

/// Checks what a transpose was asked for.
/// \param kernel  name for messages
/// \param params  what it gets
/// \throws Error  if it cannot be launched
inline void require_transpose(const char* kernel, const TransposeParams& params) {
  constexpr std::int64_t kMaxTilesInY = 65535;  // of a grid
  require_whole_warps(kernel, params.threads_per_cta);
  require_range(kernel, "rows", params.rows, 0, kMaxTilesInY * kTransposeTile);
  require_range(kernel, "columns", params.columns, 0, std::int64_t{1} << 30);
  require_array(kernel, "input", params.input, params.rows * params.columns);
  require_array(kernel, "output", params.output, params.rows * params.columns);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
