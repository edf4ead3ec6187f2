/// \file
/// Reads safetensors files, the format in which weights are exchanged: eight bytes with the length
/// of a JSON header, the header, and the arrays one after another. Reading is strict: whatever the
/// header promises is checked against the file before any array is made.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "reference/tensor/tensor.h"

namespace pagelab {

/// Reads every array of a safetensors file.
/// \param path    a file whose dtypes are F64, F32, F16, BF16, F8_E4M3, F8_E5M2, I64, I32, U16, U8
/// \returns       the arrays by name; `__metadata__` is checked and left out
/// \throws Error  naming the file, and the array where one is at fault: the file is cut short or
///                too long, the header is not JSON of the format's form, a dtype is not readable,
///                or the arrays' bytes overlap, leave a gap or do not match their shapes
/// \source        https://github.com/huggingface/safetensors, README, "Format"
std::map<std::string, Tensor> read_safetensors(const std::filesystem::path& path);

}  // namespace pagelab
