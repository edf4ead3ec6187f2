/// \file
/// How far a correct implementation may be from the reference: a bound for every element of the
/// output and of the LSE, computed in double from the data of the step. A result outside it is a
/// bug; there is no tolerance to tune. The derivation, line by line, is in docs/error_bound.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/attention_step.h"
#include "reference/numerics/precision.h"
#include "reference/tensor/tensor.h"

namespace pagelab {

/// What a float type does to a number that is rounded to it.
struct FloatLimits {
  double unit_roundoff;  ///< largest relative error of one rounding: 2^-24 for float32
  double half_smallest;  ///< largest absolute error among the subnormals: 2^-150 for float32
  double largest;        ///< largest finite value
};

/// The limits of a float type.
/// \throws Error  if the dtype is not a float
FloatLimits limits_of(DType dtype);

/// The largest allowed |result − reference|, element by element.
/// - 0 in padding rows and in rows without a visible key: their results are exact.
/// - NaN where the reference is not finite: the result has to be equal to it (NaN to NaN).
/// - +∞ where a number may exceed the range of the arithmetic or of the output.
struct ErrorBound {
  Tensor output;  ///< float64 [T, num_query_heads, head_size_v]
  Tensor lse;     ///< float64 [num_query_heads, T]
};

/// Bounds the distance between the reference in double and an implementation of this precision that
/// reads the same stored inputs (quantisation is no part of it).
/// \param step       its cache already holds this step's tokens: it is read as it stands
/// \param precision  of the implementation
/// \throws Error     if the step is inconsistent, or the precision has a type or number it may not
/// \source           docs/error_bound.md; Higham (2002), chapter 3; Higham and Mary (2019)
ErrorBound error_bound(const AttentionStep& step, const Precision& precision);

/// The same where requests are attended by different kernels.
/// \param step           its cache already holds this step's tokens
/// \param of_requests    [num_reqs] the precision of each request's rows
/// \throws Error         as above, or if there is not one precision a request
ErrorBound error_bound(const AttentionStep& step, const std::vector<Precision>& of_requests);

}  // namespace pagelab
