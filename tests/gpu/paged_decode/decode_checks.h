/// \file
/// What every rung of paged_decode from the third on must hold, for its tests.
#pragma once

#include <memory>
#include <optional>

#include "gpu/runtime/device.h"
#include "reference/numerics/error_bound.h"
#include "reference/registry/backend.h"
#include "tests/cases/attention_cases.h"

namespace pagelab::test {

inline constexpr int kFirstRung = 3;      ///< rungs 1 and 2 have tests of their own
inline constexpr int kLastRung = 6;       ///< of the ladder
inline constexpr int kPipelinedRung = 6;  ///< reads 16 bytes at a time, no float64

/// A step on a rung of paged_decode.
AttentionResult decode_by(int rung,
                          const AttentionStep& step,
                          const std::shared_ptr<Device>& device);

/// The options of a step that a rung takes: rung 6 gets whole 16 bytes a head.
/// \returns  nothing if it refuses the type of the cache
std::optional<RandomStepOptions> options_for(int rung, RandomStepOptions options);

/// Checks output and LSE against the double reference, element by element, and returns the largest share of
/// the bound in use.
double check_decode_bound(int rung, const AttentionStep& step, const AttentionResult& got);

/// Checks that two results have the same output and LSE, bit for bit.
void check_same_result(const AttentionResult& got, const AttentionResult& expected);

/// Puts the tokens of one request into a step, in the place of its request `req_idx`, which has the same
/// lengths. Both are float32, with caches in the layout NHD, apart.
void replace_request(AttentionStep& step, std::int64_t req_idx, const AttentionStep& one);

/// Checks that the rows of a batch from first_token on have the bits of a batch that has only them.
void check_rows(const AttentionResult& together,
                std::int64_t first_token,
                const AttentionResult& alone,
                std::int64_t num_tokens);

/// Contexts around the length of a partition, 512 keys: what one partition, two and three make of them.
std::vector<AttentionCase> long_cases();

}  // namespace pagelab::test
