/// \file
/// What the engine's golden tables share: runs of tokens, fingerprints of queues, a cache's settings.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "simulator/engine/cache/kv_cache_config.h"
#include "simulator/engine/request.h"

namespace pagelab {

/// A number of 32 bits. \throws Error if the field's number is larger
std::int32_t number_field(const nlohmann::ordered_json& object, const char* name);

/// A number of 32 bits, or another where the field is missing. \throws Error if it is larger
std::int32_t number_field(const nlohmann::ordered_json& object,
                          const char* name,
                          std::int32_t otherwise);

/// Tokens of runs: [[5, 3], [9, 1]] is 5 6 7 9. \throws Error if one is no token
std::vector<TokenId> tokens_of_runs(const nlohmann::ordered_json& runs);

/// FNV-1a, 64 bits, of block ids as four little-endian bytes each; 16 hexadecimal digits.
std::string fnv_of_blocks(std::span<const BlockId> blocks);

/// The groups of a cache: [{"kind": "full"}, {"kind": "swa", "window": 4}].
std::vector<KVCacheGroupSpec> groups_of_json(const nlohmann::ordered_json& groups);

/// Block ids of each group from a logical block on: [[1, 2], [3, 4]].
/// \param request  has the tables
/// \param first    how many leading blocks are left out
nlohmann::ordered_json tables_json(const Request& request, std::size_t first = 0);

}  // namespace pagelab
