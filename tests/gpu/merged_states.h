/// \file
/// Runs of the merge_states kernel on random states, for its tests and for its golden lines.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/runtime/device.h"
#include "reference/attention/merge_states.h"

namespace pagelab::test {

/// Merges two states on a device.
/// \param device  where the kernel runs
/// \param prefix  float32 output [num_tokens, num_query_heads, head_size_v] and its LSE
/// \param suffix  of the same shapes
AttentionStates merge_on(const std::shared_ptr<Device>& device,
                         const AttentionStates& prefix,
                         const AttentionStates& suffix);

/// Ordinary states, with an empty one, a NaN and an extreme LSE now and then; empty ones hold NaN.
/// \param shape  [num_tokens, num_query_heads, head_size_v]
/// \param seed   everything else
AttentionStates random_states(const Shape& shape, std::uint64_t seed);

}  // namespace pagelab::test
