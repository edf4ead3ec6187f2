/// \file
/// What a checked kernel's every access goes through: in device memory it must lie within one live
/// array, and what is read must have been written; a null pointer is refused. This is what compute-sanitizer's memcheck and
/// initcheck find on a GPU.
///
/// Not seen: an access outside the simulated device memory (parameters, locals; a host array that a
/// kernel was handed by mistake), a wrong index that lands inside another array further away than
/// the guard gap, and what `memcpy` copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace pagelab::simt {

/// What an access does.
enum class AccessKind : std::uint8_t {
  kRead,   ///< loads
  kWrite,  ///< stores
};

/// Checks an access of the running kernel and marks what it writes. If the access is wrong, the
/// kernel is left and its launch throws. Outside a launch, and outside device memory, nothing is
/// checked.
/// \param address  first byte
/// \param bytes    of one element, or of a structure
/// \param kind     loads or stores
void check_access(const void* address, std::size_t bytes, AccessKind kind);

/// The sentence about a wrong access: array, element, size. Empty if there is nothing wrong.
/// \param address  first byte
/// \param bytes    of the access; elements are counted in this unit
/// \param kind     loads or stores
std::string describe_wrong_access(const void* address, std::size_t bytes, AccessKind kind);

}  // namespace pagelab::simt
