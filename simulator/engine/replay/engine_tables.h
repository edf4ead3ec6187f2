/// \file
/// The golden tables of the engine, and the functions that answer a line of each.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "reference/replay/golden_table.h"

namespace pagelab {

/// Every kind of golden table that the engine answers, in the order of `pagelab replay --help`.
const std::vector<TableKind>& engine_table_kinds();

/// The block size that all backends of a cache group read; null where none suits all.
nlohmann::ordered_json answer_kernel_block_size(const nlohmann::ordered_json& line);

}  // namespace pagelab
