/// \file
/// The matrix product of a Llama's layers, in an order of its own: every element is one chain of
/// multiply and add over increasing input index. Eigen's product would be faster on large batches,
/// but its order depends on how many rows there are, and then a request's bits would depend on who
/// else is in the batch.
#pragma once

#include "reference/model/row_matrix.h"

namespace pagelab {

/// x · W, one row a token.
/// \param x       [num_tokens, in]
/// \param weight  [in, out]: the transpose of what the file holds, so that the inner loop walks
///                along a row
/// \returns       [num_tokens, out]; a row depends on its own row of x alone, bit for bit
inline RowMatrix linear(const RowMatrix& x, const RowMatrix& weight) {
  RowMatrix y = RowMatrix::Zero(x.rows(), weight.cols());
  for (Eigen::Index in = 0; in < weight.rows(); ++in) {
    for (Eigen::Index token_idx = 0; token_idx < x.rows(); ++token_idx) {
      const double factor = x(token_idx, in);
      y.row(token_idx) += factor * weight.row(in);
    }
  }
  return y;
}

}  // namespace pagelab
