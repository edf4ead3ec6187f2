/// \file
/// What results of any way to attend are checked for: the bound, the bits, and that a request's rows do
/// not depend on its neighbours in the batch.
#pragma once

#include <cstdint>

#include "reference/numerics/error_bound.h"
#include "reference/registry/backend.h"

namespace pagelab::test {

/// Checks output and LSE against the double reference, element by element, and returns the largest share of
/// the bound in use.
/// \param precision  of whatever computed the result
double check_within_bound(const AttentionStep& step,
                          const AttentionResult& got,
                          const Precision& precision);
/// \copydoc check_within_bound(const AttentionStep&, const AttentionResult&, const Precision&)
/// \param backend  that computed the result
double check_within_bound(const AttentionStep& step,
                          const AttentionResult& got,
                          const AttentionBackend& backend);

/// Checks that two results have the same output and LSE, bit for bit.
void check_same_bits(const AttentionResult& got, const AttentionResult& expected);

/// Puts the tokens of a step's only request into another step, in the place of its request `req_idx`, which
/// has the same lengths and types.
void replace_request(AttentionStep& step, std::int64_t req_idx, const AttentionStep& one);

/// Checks that the rows of a batch from first_token on have the bits of a batch that has only them.
void check_rows(const AttentionResult& together,
                std::int64_t first_token,
                const AttentionResult& alone,
                std::int64_t num_tokens);

}  // namespace pagelab::test
