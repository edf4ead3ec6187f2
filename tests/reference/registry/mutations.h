/// \file
/// Every small change of a catalogue's row: one flag, one dtype, one size, one reason. A golden table that
/// means something has a line for each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reference/registry/backend_facts.h"

namespace pagelab::test {

/// One change of one row.
struct Mutation {
  std::string what;    ///< "dtypes without float16"
  BackendFacts facts;  ///< the row with the change
};

/// The changes of a row that selection could notice, as the row stands.
std::vector<Mutation> mutations_of(const BackendFacts& facts);

/// Makes a row give all its combination reasons but one. One row at a time: a rule is a plain function, so
/// which reason is left out is kept beside it.
/// \param facts      a row with a combination rule
/// \param beginning  of the one that is left out
Mutation without_combination_reason(const BackendFacts& facts, const std::string& beginning);

}  // namespace pagelab::test
