/// \file
/// The yardstick of everything that multiplies: what NVIDIA's own library makes of a large product.
#pragma once

#include <optional>

namespace pagelab {

/// Operations a second of a product of two bfloat16 matrices of 8192 × 8192 by cuBLAS on the GPU, a multiplication
/// and an addition counted as two; the best of ten. Measured once, then remembered.
/// \returns        nothing if there is no libcublas on this machine: it is asked for when it is needed, so that
///                 a program can be carried to a machine without it
/// \throws Error   if there is no GPU, or the product fails
std::optional<double> cublas_matrix_rate();

}  // namespace pagelab
