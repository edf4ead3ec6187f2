/// \file
/// Whether two arrays agree, and if not: where, by how much, and against which bound. A NaN cannot
/// pass for agreement: every test reads `!(error <= bound)`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/tensor/tensor.h"

namespace pagelab {

/// One element of a comparison.
struct ComparedElement {
  std::int64_t index;    ///< in the flat array
  double got;            ///< what was computed
  double expected;       ///< what should have been
  double bound;          ///< largest |got − expected| allowed; 0 where bits are compared
  std::string bits;      ///< "0x3f800000 for 0x3f800001", where bits are compared
  double error() const;  ///< |got − expected|; 0 for equal values, infinities and NaN among them
};

/// How a comparison went.
struct Comparison {
  std::int64_t compared = 0;    ///< elements
  std::int64_t mismatches = 0;  ///< elements that disagree
  std::int64_t unbounded = 0;   ///< elements whose bound is +∞: any number was good enough there
  /// Largest error / bound: at most 1 where all agree; +∞ where an exact element or a NaN disagrees.
  double worst_share_of_bound = 0.0;
  /// The element with the largest share of its bound, if there are elements; where bits are
  /// compared, the first that disagrees.
  std::optional<ComparedElement> worst;
  std::vector<ComparedElement> around_worst;  ///< it and up to two neighbours on each side
  Shape shape;                                ///< of the arrays
  std::string bound_origin;                   ///< where the bound comes from, for messages

  /// Whether every element agrees.
  bool agrees() const { return mismatches == 0; }
};

/// Compares two arrays within a bound for each element. Two NaN agree, and so do two infinities of
/// the same sign, whatever the bound. Otherwise a NaN agrees with nothing, and where the bound is
/// NaN nothing else agrees. A bound of +∞ allows any number and is counted.
/// \param got       any float dtype
/// \param expected  any float dtype, the same shape
/// \param bound     largest allowed |got − expected|, none negative, the same shape
/// \param origin    where the bound comes from, for the message
/// \throws Error    if a shape differs or a bound is negative
Comparison compare_within(const Tensor& got,
                          const Tensor& expected,
                          const Tensor& bound,
                          std::string_view origin = "derived in docs/error_bound.md");

/// Compares two arrays bit by bit: +0 differs from −0, and a NaN agrees with the same NaN only.
/// \param got       any dtype
/// \param expected  the same dtype and shape
/// \throws Error    if dtype or shape differ
Comparison compare_bits(const Tensor& got, const Tensor& expected);

/// One line where everything agrees; else how many disagree, the worst of them, and its
/// neighbourhood.
std::string to_string(const Comparison& comparison);

}  // namespace pagelab
