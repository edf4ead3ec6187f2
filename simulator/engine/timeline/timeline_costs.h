/// \file
/// What a step's parts cost, in one table with where each figure comes from: a measurement, or a count.
/// Whoever has other figures sets them (`pagelab simulate --cost NAME=VALUE`).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pagelab {

/// The figures. What they mean is in timeline_costs().
struct TimelineCosts {
  double schedule_us = 725;               ///< see the table
  double metadata_us = 24.2;              ///< see the table
  double metadata_us_per_request = 5.25;  ///< see the table
  double kernels_per_layer = 10;          ///< see the table
  double launch_us = 3.7;                 ///< see the table
  double replay_us = 3;                   ///< see the table
  double matrix_tflops = 780.69;          ///< see the table
  double read_gbps = 4350.8;              ///< see the table
  double decode_us = 31.9;                ///< see the table
  double decode_gbps = 4028;              ///< see the table
  double extend_us = 55.1;                ///< see the table
  double extend_tflops = 232.3;           ///< see the table
  double extend_gbps = 461.8;             ///< see the table
};

/// How a figure was found.
enum class CostOrigin : std::uint8_t {
  kMeasured,  ///< on the machine that its source names
  kCounted,   ///< in the program that its source names
};

/// One row of the table.
struct TimelineCost {
  std::string_view name;         ///< as the user writes it
  double TimelineCosts::*value;  ///< the figure
  CostOrigin origin;             ///< how it was found
  std::string_view what;         ///< what it is
  std::string_view source;       ///< where it comes from
};

/// The table.
std::span<const TimelineCost> timeline_costs();

/// Sets a figure.
/// \param costs       to be changed
/// \param assignment  "launch_us=3"
/// \throws Error      if there is no such figure, or the value is no number that it may have
void set_cost(TimelineCosts& costs, const std::string& assignment);

}  // namespace pagelab
