/// \file
/// What the block_reduce launchers get, and the split of the work that both rungs share.
#pragma once

#include <cstdint>

#include "gpu/kernels/launch_checks.h"

namespace pagelab {

/// The most thread blocks of the first launch, and so the most partial sums. Fixed, and not the
/// number that a GPU holds at once: the order of the additions depends on it.
inline constexpr std::int64_t kMaxPartialSums = 1024;

/// The sum of an array of floats. Plain data; pointers are device addresses.
struct BlockReduceParams {
  const float* values = nullptr;       ///< [count] what is added up
  std::int64_t count = 0;              ///< 0 or more; the sum of no values is 0
  float* partial_sums = nullptr;       ///< [kMaxPartialSums] room for one sum a thread block
  float* total = nullptr;              ///< [1] the result
  unsigned int threads_per_cta = 256;  ///< a multiple of 32 from 32 to 1024
};

/// What one launch of the kernel gets. The second launch has one thread block, whose values are the
/// first one's sums.
struct CtaSumsParams {
  const float* values = nullptr;  ///< [count]
  std::int64_t count = 0;         ///< 0 or more
  float* sums = nullptr;          ///< [thread blocks] one sum for each
};

inline namespace PAGELAB_TARGET {

/// Thread blocks of the first launch: a thread for each value, but kMaxPartialSums at most.
/// \param kernel  name for messages
/// \param params  checked first
/// \throws Error  if they cannot be launched
inline unsigned int num_partial_sums(const char* kernel, const BlockReduceParams& params) {
  require_whole_warps(kernel, params.threads_per_cta);
  require_range(kernel, "count", params.count, 0, std::int64_t{1} << 40);
  require_array(kernel, "values", params.values, params.count);
  require_array(kernel, "partial_sums", params.partial_sums, kMaxPartialSums);
  require_array(kernel, "total", params.total, 1);
  const std::int64_t num_ctas =
      (params.count + params.threads_per_cta - 1) / params.threads_per_cta;
  if (num_ctas == 0) return 1;
  return static_cast<unsigned int>(num_ctas < kMaxPartialSums ? num_ctas : kMaxPartialSums);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
