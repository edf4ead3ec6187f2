/// \file
/// The matrix in which the model around attention computes: float64, row-major, a row a token.
#pragma once

#include <Eigen/Core>

namespace pagelab {

/// [num_tokens, size]
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// [size]
using RowVector = Eigen::Matrix<double, 1, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace pagelab
