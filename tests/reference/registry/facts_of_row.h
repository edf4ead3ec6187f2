// A row of the catalogue against all that backends.json has to say of it.
#pragma once

#include <vector>

#include "tests/reference/registry/lines_of_facts.h"

namespace pagelab::test {

// What backends.json has to say of one backend: its facts as they stand, and asked.
struct FactsOfRow {
  const Json* facts;
  std::vector<LineOfFacts> lines;
  std::vector<LineOfFacts> combinations;
};

FactsOfRow facts_of_row(const Json& facts);

// Whether a row gives another answer to one of the lines.
bool has_other_reasons(const BackendFacts& row, const std::vector<LineOfFacts>& lines);

// Whether a row is not what the facts say.
bool contradicts(const BackendFacts& row, const FactsOfRow& theirs);

// Whether both rows accept the same block sizes, head sizes, cache dtypes and GPUs, whatever their lists say.
bool accept_the_same(const BackendFacts& a, const BackendFacts& b);

}  // namespace pagelab::test
