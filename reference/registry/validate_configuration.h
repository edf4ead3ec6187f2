/// \file
/// Whether one backend serves one layer, and if not, every reason why.
#pragma once

#include <string>
#include <vector>

#include "reference/registry/backend_facts.h"

namespace pagelab {

/// Asks every check of a row, in vLLM's order; nothing stops early.
/// \param facts     the row
/// \param question  the layer's record, the GPU and what is installed
/// \returns         the reasons against it; empty: it is valid
/// \source vLLM v1/attention/backend.py, validate_configuration
std::vector<std::string> validate_configuration(const BackendFacts& facts,
                                                const SelectionQuestion& question);

}  // namespace pagelab
