/// \file
/// Which rules a tensor core follows, found out by trying: variants of MmaRules are compared with what a
/// device computed, result by result.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/gpu/tensor_core/tensor_core_runs.h"

namespace pagelab::test {

/// One variant, and how often it was wrong.
struct MmaVariant {
  simt::MmaRules rules;                                  ///< what is tried
  std::int64_t num_mismatches = 0;                       ///< results that differ
  std::map<std::string, std::int64_t> by_category = {};  ///< those, by category; without zeros
};

/// The default rules first, then others: more or fewer bits, k in parts, and how C and tiny exponents
/// count.
std::vector<MmaVariant> all_mma_variants();

/// "25 bits, sums of 16, subnormal C counts with -126, E at least -133".
std::string to_string(const simt::MmaRules& rules);

/// Counts the mismatches of every variant in a category, on all cores.
template <int kDepth>
void try_variants(const MmaCategory& category,
                  simt::MmaInput input,
                  const std::vector<MmaTile<kDepth>>& tiles,
                  const std::vector<MmaResults>& results,
                  std::vector<MmaVariant>& variants);

}  // namespace pagelab::test
