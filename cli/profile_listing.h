/// \file
/// What `pagelab profile` prints: the source of a kernel with its counters beside the lines.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/profiled_kernels.h"
#include "simulator/simt/counters.h"

namespace pagelab::cli {

/// A listing for people: every line of the kernel, those that access memory or meet with their counts,
/// lines of other files that the kernel calls, and the totals of each launch.
/// \param kernel    what was run
/// \param launches  its counts
std::string listing_of(const ProfiledKernel& kernel,
                       const std::vector<simt::LaunchCounters>& launches);

/// The same as a document: totals and lines of each launch.
nlohmann::ordered_json json_of(const ProfiledKernel& kernel,
                               const std::vector<simt::LaunchCounters>& launches);

}  // namespace pagelab::cli
