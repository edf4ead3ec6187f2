/// \file
/// The heads that paged_prefill/1_tiled takes: what its shared memory is asked to hold.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/kernels/launch_checks.h"
#include "gpu/kernels/paged_attention/params.h"

namespace pagelab {

/// Elements of the largest head.
inline constexpr std::int64_t kMaxPrefillHeadSize = 256;

inline namespace PAGELAB_TARGET {

/// \param params  of the launch
/// \returns       which head is too large; empty if none is
inline std::string refusal_of_head_sizes(const PagedAttentionParams& params) {
  const std::string of_keys =
      refusal_of_range("head_size", params.head_size, 1, kMaxPrefillHeadSize);
  if (!of_keys.empty()) return of_keys;
  return refusal_of_range("head_size_v", params.head_size_v, 1, kMaxPrefillHeadSize);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
