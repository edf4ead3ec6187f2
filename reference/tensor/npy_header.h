/// \file
/// The header of a `.npy` file: a Python dictionary of three entries, read without Python.
#pragma once

#include <string>
#include <string_view>

#include "reference/tensor/tensor.h"

namespace pagelab {

/// What the header says.
struct NpyHeader {
  std::string descr;           ///< NumPy's name of the type, "<f4"
  bool fortran_order = false;  ///< the first axis is the innermost
  Shape shape;                 ///< lengths of the axes, none negative
};

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, entries in any order,
/// followed by spaces and a newline.
/// \throws Error  for anything else, in a sentence that says what the header lacks
NpyHeader parse_npy_header(std::string_view text);

/// The header as NumPy writes it, without padding.
std::string to_string(const NpyHeader& header);

}  // namespace pagelab
