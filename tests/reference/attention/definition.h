/// \file
/// Attention once more, straight from the formula and built unlike the reference: whole matrices in
/// long double, no paging, no chains, exponentials of the exact language. What the reference is held
/// against for steps that nobody computed by hand.
#pragma once

#include "reference/attention/contiguous.h"
#include "reference/contract/attention_step.h"

namespace pagelab::test {

/// softmax(mask(bias(cap(scale · Q · Kᵀ)))) · V of each request.
/// \param step  its cache holds the step's tokens already
/// \returns     float64 output [T, num_query_heads, head_size_v] and lse [num_query_heads, T]
RequestAttention attention_by_definition(const AttentionStep& step);

}  // namespace pagelab::test
