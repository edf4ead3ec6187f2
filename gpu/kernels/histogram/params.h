/// \file
/// What the histogram launchers get, and the split of the work that both rungs share.
#pragma once

#include <cstdint>

#include "gpu/kernels/launch_checks.h"

namespace pagelab {

/// Bins of the histogram: one for each value of a byte.
inline constexpr unsigned int kHistogramBins = 256;

/// How often each byte occurs. Plain data; pointers are device addresses.
struct HistogramParams {
  const std::uint8_t* values = nullptr;  ///< [count]
  std::int64_t count = 0;                ///< 0 to 2^32 − 1, so that no bin overflows
  unsigned int* counts = nullptr;        ///< [kHistogramBins] added to: zeros at first
  unsigned int threads_per_cta = 256;    ///< a multiple of 32 from 32 to 1024
};

inline namespace PAGELAB_TARGET {

/// Thread blocks of a histogram: a thread for each value, but so few thread blocks at most that each
/// of them has thousands of values to count.
/// \param kernel  name for messages
/// \param params  checked first
/// \returns       0 where nothing is to be counted
/// \throws Error  if they cannot be launched
inline unsigned int num_histogram_ctas(const char* kernel, const HistogramParams& params) {
  constexpr std::int64_t kMaxCtas = 1024;
  require_whole_warps(kernel, params.threads_per_cta);
  require_range(kernel, "count", params.count, 0, 4294967295);
  require_array(kernel, "values", params.values, params.count);
  require_array(kernel, "counts", params.counts, kHistogramBins);
  const std::int64_t num_ctas =
      (params.count + params.threads_per_cta - 1) / params.threads_per_cta;
  return static_cast<unsigned int>(num_ctas < kMaxCtas ? num_ctas : kMaxCtas);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
