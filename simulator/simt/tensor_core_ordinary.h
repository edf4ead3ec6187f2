/// \file
/// The tensor cores' arithmetic for the tiles that come up all the time: those in which no number is so
/// large or so small that a float32 or an 8-bit exponent could not hold what is on the way to a result.
#pragma once

#include <cstdint>

#include "simulator/simt/tensor_core.h"

namespace pagelab::simt {

/// D = A · B + C, if the numbers are ordinary; see tensor_core_ordinary.cpp for what that means. D may be C.
/// \tparam kInput  what the bits of a and b mean
/// \tparam kDepth  16 or 8
/// \param a        [16, kDepth] A by rows, as bits
/// \param b        [kDepth, 8] B by rows, as bits
/// \param c        [16, 8] accumulators
/// \param d        [16, 8] results
/// \returns        whether they are; if not, nothing was written
template <MmaInput kInput, int kDepth>
bool mma_of_ordinary_numbers(const std::uint16_t (&a)[16][kDepth],
                             const std::uint16_t (&b)[kDepth][8],
                             const float (&c)[16][8],
                             float (&d)[16][8]);

}  // namespace pagelab::simt
