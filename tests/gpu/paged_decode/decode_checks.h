/// \file
/// What every rung of paged_decode from the third on must hold, for its tests.
#pragma once

#include <memory>
#include <optional>

#include "gpu/runtime/device.h"
#include "reference/numerics/error_bound.h"
#include "reference/registry/backend.h"
#include "tests/cases/attention_cases.h"
#include "tests/gpu/attention_checks.h"

namespace pagelab::test {

inline constexpr int kFirstRung = 3;       ///< rungs 1 and 2 have tests of their own
inline constexpr int kLastRung = 7;        ///< of the ladder
inline constexpr int kPipelinedRung = 6;   ///< reads 16 bytes at a time, no float64
inline constexpr int kTensorCoreRung = 7;  ///< 16 bits an element, heads of multiples of 16

/// A step on a rung of paged_decode.
AttentionResult decode_by(int rung,
                          const AttentionStep& step,
                          const std::shared_ptr<Device>& device);

/// The options of a step that a rung takes: rung 6 gets whole 16 bytes a head, rung 7 also 16 bits an element.
/// \returns  nothing if it refuses the type of the cache
std::optional<RandomStepOptions> options_for(int rung, RandomStepOptions options);

/// Checks output and LSE against the double reference, element by element, and returns the largest share of
/// the bound in use.
double check_decode_bound(int rung, const AttentionStep& step, const AttentionResult& got);

/// A step that a rung takes: rung 7 gets it in 16 bits. \returns nothing if rung 6 refuses its heads
std::optional<AttentionStep> step_for(int rung, const AttentionStep& step);

/// Contexts around the length of a partition, 512 keys: what one partition, two and three make of them.
std::vector<AttentionCase> long_cases();

}  // namespace pagelab::test
