/// \file
/// What the catalogue's tables write in their cells.
#pragma once

#include <string>

#include "reference/registry/backend_facts.h"

namespace pagelab {

/// "fp16, bf16".
std::string dtypes_cell(const BackendFacts& facts);
/// "auto, fp8": those accepted on the question's GPU.
std::string kv_cache_dtypes_cell(const BackendFacts& facts, const SelectionQuestion& question);
/// "16, 32" or "%16" (any multiple) or "Any".
std::string block_sizes_cell(const BackendFacts& facts, const SelectionQuestion& question);
/// "64, 128" or "%8, ≤256" or "≥32" or "Any".
std::string head_sizes_cell(const BackendFacts& facts, const SelectionQuestion& question);
/// "Decoder" or "Decoder, Encoder Only" or "All".
std::string attn_types_cell(const BackendFacts& facts);
/// "Any", "≥8.0", "9.x-10.x", "9.0"; "N/A" for ROCm, XPU and CPU.
std::string capabilities_cell(const BackendFacts& facts);

}  // namespace pagelab
