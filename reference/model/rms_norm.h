/// \file
/// RMSNorm: every token's vector is divided by its root mean square and scaled element by element.
#pragma once

#include <cmath>

#include "reference/model/row_matrix.h"

namespace pagelab {

/// x / √(mean(x²) + eps) · weight, row by row.
/// \param x       [num_tokens, size]
/// \param weight  [size]
/// \param eps     keeps a row of zeros finite, > 0
/// \returns       [num_tokens, size]
/// \source        RMSNorm (Zhang & Sennrich 2019), equation 4
inline RowMatrix rms_norm(const RowMatrix& x, const RowVector& weight, double eps) {
  RowMatrix y(x.rows(), x.cols());
  for (Eigen::Index token_idx = 0; token_idx < x.rows(); ++token_idx) {
    double sum_of_squares = 0;
    for (Eigen::Index i = 0; i < x.cols(); ++i) {
      sum_of_squares += x(token_idx, i) * x(token_idx, i);
    }
    const double mean_square = sum_of_squares / static_cast<double>(x.cols());
    const double root_mean_square = std::sqrt(mean_square + eps);
    for (Eigen::Index i = 0; i < x.cols(); ++i) {
      y(token_idx, i) = x(token_idx, i) / root_mean_square * weight(i);
    }
  }
  return y;
}

}  // namespace pagelab
