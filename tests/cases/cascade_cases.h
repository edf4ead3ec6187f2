/// \file
/// Steps whose requests begin with common blocks, for reference, simulator and GPU: each block size, group and kind
/// of batch, and the corners of a prefix.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/random_step.h"

namespace pagelab::test {

/// A named random step, and where its common prefix ends. Blocks are shuffled; unused slots hold NaN.
struct CascadeCase {
  std::string name;                           ///< what is special about it
  RandomStepOptions options;                  ///< what it is made of
  std::uint64_t seed;                         ///< the rest
  std::int64_t num_common_prefix_blocks = 0;  ///< to be attended at once
  /// The step: random_step(options, seed).
  AttentionStep step() const { return random_step(options, seed); }
};

/// All the cases, in one activation dtype.
/// \param dtype  of query, key and value
std::vector<CascadeCase> cascade_cases(DType dtype);

}  // namespace pagelab::test
