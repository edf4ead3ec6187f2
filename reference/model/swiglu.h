/// \file
/// SwiGLU: one projection of the token, passed through SiLU, gates another.
#pragma once

#include "reference/model/row_matrix.h"
#include "reference/numerics/exact_exp.h"

namespace pagelab {

/// x · sigmoid(x). For large negative x the exponential overflows to infinity and the result is −0.
/// The exponential is pagelab's own, so that a GPU finds the same bits.
inline double silu(double x) { return x / (1.0 + exact_exp(-x)); }

/// silu(gate) · up, element by element.
/// \param gate  [num_tokens, intermediate_size]
/// \param up    [num_tokens, intermediate_size]
/// \returns     [num_tokens, intermediate_size]
/// \source      GLU Variants Improve Transformer (Shazeer 2020), equation 6
inline RowMatrix swiglu(const RowMatrix& gate, const RowMatrix& up) {
  RowMatrix y(gate.rows(), gate.cols());
  for (Eigen::Index token_idx = 0; token_idx < gate.rows(); ++token_idx) {
    for (Eigen::Index i = 0; i < gate.cols(); ++i) {
      y(token_idx, i) = silu(gate(token_idx, i)) * up(token_idx, i);
    }
  }
  return y;
}

}  // namespace pagelab
