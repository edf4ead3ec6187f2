/// \file
/// A roofline: how many operations a second something does, against how many it does for each byte that has to
/// move. Nothing lies above the slope of the memory or the ceiling of the tensor cores.
///
/// Source: Williams, Waterman and Patterson, "Roofline: an insightful visual performance model" (2009).
#pragma once

#include <string>
#include <vector>

#include "cli/measurements.h"

namespace pagelab::cli {

/// The picture, as an SVG document.
/// \param device        its name, for the title
/// \param limits        slope and, if known, ceiling
/// \param measurements  those with a time are drawn, each with its name and shape in the legend
std::string roofline_svg(const std::string& device,
                         const MeasuredLimits& limits,
                         const std::vector<Measurement>& measurements);

}  // namespace pagelab::cli
