/// \file
/// Steps and cases of the tables, changed to ones that tensor cores take: 16 bits an element, heads that are
/// multiples of 16.
#pragma once

#include "reference/contract/attention_step.h"
#include "tests/cases/attention_cases.h"

namespace pagelab::test {

/// Every option of a case with a type and head sizes that tensor cores take, these in turn.
AttentionCase for_tensor_cores(AttentionCase attention_case);

/// A step in float16, which has all whole numbers of the traps, with longer heads.
AttentionStep for_tensor_cores(const AttentionStep& step);

/// Zeros after the elements of each head, up to a multiple of 16.
/// \param rows   [..., head size]
/// \param dtype  of the result
Tensor padded(const Tensor& rows, DType dtype);

}  // namespace pagelab::test
