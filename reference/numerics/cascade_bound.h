/// \file
/// How far cascade attention may be from the reference that attends over all keys at once. A merge is a softmax over
/// two "keys", whose scores are the LSEs of the parts and whose values are their outputs; both come with bounds of
/// their own. The derivation is in docs/error_bound.md.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/contract/attention_step.h"
#include "reference/numerics/error_bound.h"
#include "reference/numerics/precision.h"

namespace pagelab {

/// How the parts of a cascade are computed, request by request: a backend may attend by several kernels. The merge is
/// in float64 if the prefix is, else in float32.
struct CascadePrecision {
  std::vector<Precision> prefix;  ///< [num_reqs] of each request's queries over the shared blocks
  std::vector<Precision> suffix;  ///< [num_reqs] of them over the request's own
};

/// Bounds the distance between REFERENCE, all keys at once, and a cascade of this precision.
/// \param step                      its cache already holds this step's tokens
/// \param num_common_prefix_blocks  leading blocks that all requests with a query share, at least 1
/// \param precision                 of the parts
/// \throws Error  if the step is inconsistent, is no cascade (split_cascade), or a precision is not valid
ErrorBound cascade_error_bound(const AttentionStep& step,
                               std::int64_t num_common_prefix_blocks,
                               const CascadePrecision& precision);

}  // namespace pagelab
