/// \file
/// Small attention steps in which other projects went wrong, with results worked out by hand. The
/// reference, the simulator and the GPU all run them. Names begin with the trap's number where it
/// has one.
#pragma once

#include <string>
#include <vector>

#include "reference/contract/attention_step.h"

namespace pagelab::test {

/// A step and what must come out of it.
struct AttentionTrap {
  std::string name;       ///< what holds, as a sentence
  AttentionStep step;     ///< fit for attend(): what it stores, it stores
  Tensor output;          ///< float64 [T, num_query_heads, head_size_v], the true values
  Tensor lse;             ///< float64 [num_query_heads, T], the true values
  bool is_exact = false;  ///< whether every float implementation must hit the output's very value
};

/// Two steps whose outputs and LSEs must have the same bits.
struct AttentionTwins {
  std::string name;     ///< what may make no difference, as a sentence
  AttentionStep one;    ///< fit for attend()
  AttentionStep other;  ///< fit for attend()
};

/// Traps R1 to R8, R10, E11, K8, K9, K14, K15 and K18, and the corners of masks, windows and sinks.
std::vector<AttentionTrap> attention_traps();

/// Traps K4, K13 and K17.
std::vector<AttentionTwins> attention_twins();

}  // namespace pagelab::test
