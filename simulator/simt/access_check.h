/// \file
/// What a checked kernel's every access goes through: in device memory it must lie within one live
/// array, and what is read must have been written; a null pointer is refused. This is what compute-sanitizer's memcheck and
/// initcheck find on a GPU.
#pragma once

#include <cstddef>
#include <string>

#include "simulator/simt/checks.h"

namespace pagelab::simt {

/// The sentence about a wrong access: array, element, size. Empty if there is nothing wrong.
/// \param address  first byte
/// \param bytes    of the access; elements are counted in this unit
/// \param kind     loads or stores
std::string describe_wrong_access(const void* address, std::size_t bytes, AccessKind kind);

}  // namespace pagelab::simt
