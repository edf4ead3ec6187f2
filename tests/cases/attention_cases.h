/// \file
/// The one table of attention steps that reference, simulator and GPU tests all run over: each
/// dtype, layout, kind of batch and variant, and the corners. A new corner is one row here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/random_step.h"

namespace pagelab::test {

/// A named random step.
struct AttentionCase {
  std::string name;           ///< what is special about it
  RandomStepOptions options;  ///< what it is made of
  std::uint64_t seed;         ///< the rest
  /// The step: random_step(options, seed).
  AttentionStep step() const { return random_step(options, seed); }
};

/// All the cases; small ones, some thousand keys altogether.
/// \param seed_offset  added to every seed: another table of steps with the same properties
std::vector<AttentionCase> attention_cases(std::uint64_t seed_offset = 0);

}  // namespace pagelab::test
