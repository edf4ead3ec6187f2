/// \file
/// What the scan launchers get, and how much room they need.
#pragma once

#include <cstdint>

#include "gpu/kernels/launch_checks.h"

namespace pagelab {

/// An inclusive prefix sum. Plain data; pointers are device addresses.
/// \tparam Element  std::int32_t (no sum may exceed its range) or float
template <typename Element>
struct ScanParams {
  const Element* values = nullptr;     ///< [count]
  Element* sums = nullptr;             ///< [count] the result; may be `values` itself
  std::int64_t count = 0;              ///< 0 or more
  Element* cta_totals = nullptr;       ///< [num_scan_totals] room for sums of thread blocks
  unsigned int threads_per_cta = 256;  ///< a multiple of 32 from 32 to 1024
};

inline namespace PAGELAB_TARGET {

/// How many totals of thread blocks a scan needs room for: one for each thread block, one for each
/// thread block that scans these, and so on until one thread block is enough.
/// \param count            values
/// \param threads_per_cta  1 or more
inline std::int64_t num_scan_totals(std::int64_t count, unsigned int threads_per_cta) {
  std::int64_t num_totals = 0;
  for (std::int64_t num_ctas = count; num_ctas > 1;) {
    num_ctas = (num_ctas + threads_per_cta - 1) / threads_per_cta;
    num_totals += num_ctas;
  }
  return num_totals;
}

/// Checks what a scan was asked for.
/// \param kernel  name for messages
/// \param params  of the whole scan
/// \throws Error  if it cannot be launched
template <typename Element>
void require_scan(const char* kernel, const ScanParams<Element>& params) {
  require_whole_warps(kernel, params.threads_per_cta);
  require_range(kernel, "count", params.count, 0, std::int64_t{1} << 35);
  require_array(kernel, "values", params.values, params.count);
  require_array(kernel, "sums", params.sums, params.count);
  require_array(kernel, "cta_totals", params.cta_totals,
                num_scan_totals(params.count, params.threads_per_cta));
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
