/// \file
/// The second half of the error bound: from bounded scores to the LSE and to the sum over keys, for
/// one query and head. The numbered steps are those of docs/error_bound.md.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "reference/numerics/error_bound.h"
#include "reference/numerics/score_bound.h"

namespace pagelab {

/// One term of the softmax's sums: a visible key, or the sink, whose value is 0.
struct Term {
  BoundedScore score;             ///< exact, and how far off
  const double* value = nullptr;  ///< [head_size_v]; nullptr for the sink
  double probability = 0.0;       ///< exact
  double weight_error = 0.0;      ///< largest relative error of its computed weight
};

/// A row of the softmax: its terms, and what their sums have in common.
struct SoftmaxRow {
  std::vector<Term> terms;                                      ///< at least one
  double max_score = -std::numeric_limits<double>::infinity();  ///< m
  double max_score_error = 0.0;   ///< the largest error of any score; +∞ if one may overflow
  double lse = max_score;         ///< exact; not finite if the data are not
  double weight_error_sum = 0.0;  ///< E = Σ probability · weight_error
  std::int64_t num_keys = 0;      ///< of the request, seen or not
  double value_scale = 1.0;       ///< v_scale of this head; 1 where the cache is not fp8
};

/// Steps 5 and 6: the exact probabilities, and how far off the computed weights may be.
/// \param terms      scores and values
/// \param roundings  of the implementation
SoftmaxRow softmax_row(std::vector<Term> terms, const Roundings& roundings);

/// Step 7: the bound of m + log(l). NaN if the LSE is not finite, +∞ if a score may overflow.
double lse_bound(const SoftmaxRow& row, const Precision& precision);

/// Step 8: the bound of element `d` of Σ p v / l. NaN if the element is not finite, +∞ if it or a
/// score may overflow.
/// \param row              of softmax_row
/// \param d                element of the values
/// \param value_roundings  of one value element as it is read
/// \param precision        of the implementation
double output_bound(const SoftmaxRow& row,
                    std::int64_t d,
                    std::int64_t value_roundings,
                    const Precision& precision);

}  // namespace pagelab
