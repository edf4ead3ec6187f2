/// \file
/// The golden tables of the engine, and the functions that answer a line of each.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "reference/replay/golden_table.h"

namespace pagelab {

/// Every kind of golden table that the engine answers, in the order of `pagelab replay --help`.
const std::vector<TableKind>& engine_table_kinds();

/// The order of a batch, under either runner, and where it is cut.
nlohmann::ordered_json answer_reorder(const nlohmann::ordered_json& line);

/// Slots, positions and lengths of a padded step, and its block table in kernel blocks.
nlohmann::ordered_json answer_slot_mapping(const nlohmann::ordered_json& line);

/// The block size that all backends of a cache group read; null where none suits all.
nlohmann::ordered_json answer_kernel_block_size(const nlohmann::ordered_json& line);

/// Whether a backend would use cascade attention or, one level up, over which prefix.
nlohmann::ordered_json answer_cascade(const nlohmann::ordered_json& line);

/// What a CUDA-graph mode becomes, with its warnings.
nlohmann::ordered_json answer_cudagraph_mode(const nlohmann::ordered_json& line);

/// Which graphs are recorded, and which one replays each of some steps, under either runner.
nlohmann::ordered_json answer_cudagraph_dispatch(const nlohmann::ordered_json& line);

/// For which numbers of tokens graphs are recorded.
nlohmann::ordered_json answer_capture_sizes(const nlohmann::ordered_json& line);

/// Bytes of pages, pages made equal, and the blocks that a window's request may hold.
nlohmann::ordered_json answer_sizing(const nlohmann::ordered_json& line);

/// Scripts of operations on a KV cache manager of one group, or of several.
nlohmann::ordered_json answer_kv_manager(const nlohmann::ordered_json& line);

/// Requests that arrive over time, and every step that the scheduler makes of them.
nlohmann::ordered_json answer_scheduler(const nlohmann::ordered_json& line);

}  // namespace pagelab
