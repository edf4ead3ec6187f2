/// \file
/// NumPy's `.npy` files: one array each, with a header that says its type and shape. Reading is
/// strict: whatever the header promises is checked against the file before any array is made.
#pragma once

#include <filesystem>

#include "reference/tensor/tensor.h"

namespace pagelab {

/// Reads an array.
/// \param path    a file of format 1.0, 2.0 or 3.0, little-endian, C order, whose type is float64,
///                float32, float16, int32, int64, uint8 or uint16
/// \returns       the array; bfloat16 and fp8 come as uint16 and uint8 (Tensor::reinterpreted_as)
/// \throws Error  naming the file: it is missing, cut short or too long, its header is not of the
///                format's form, or it holds another type or Fortran order
/// \source        NumPy, numpy/lib/format.py ("Format Version 1.0" and after)
Tensor read_npy(const std::filesystem::path& path);

/// Writes an array in format 1.0; bfloat16 as uint16, fp8 as uint8. The file appears whole or not
/// at all.
/// \param path    replaced if it exists
/// \param array   any dtype
/// \throws Error  if the file cannot be written
void write_npy(const std::filesystem::path& path, const Tensor& array);

}  // namespace pagelab
