/// \file
/// How `unified` packs queries into a tile: its rows are pairs of a query token and a head of one group, so
/// that a key which is loaded once serves all heads that share it. And where a tile's numbers lie in shared
/// memory. Both rungs use it.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/device/keywords.h"
#include "gpu/device/shared_memory.h"
#include "gpu/kernels/launch_checks.h"
#include "gpu/kernels/paged_attention/cache_place.h"
#include "gpu/kernels/paged_attention/params.h"
#include "gpu/kernels/paged_attention/query_element.h"
#include "gpu/kernels/paged_prefill/query_tile.h"
#include "reference/cache/cache_element.h"
#include "reference/numerics/target.h"

namespace pagelab {

/// Keys of a tile of rung 1; then the sums are rescaled. Rung 2: kSegmentTileKeys.
/// \source vLLM, v1/attention/ops/triton_unified_attention.py, TILE_SIZE_PREFILL
inline constexpr std::int64_t kUnifiedKeys = 32;

inline namespace PAGELAB_TARGET {

/// The constants of both rungs.
struct Unified {
  static constexpr std::int64_t kThreadsPerRow = 8;  ///< of a pair of a query and a head
  static constexpr std::int64_t kLeastRows = 16;     ///< of a tile; what a tensor core would take
  static constexpr std::int64_t kMostRows = kMaxThreadsPerCta / kThreadsPerRow;  ///< of a tile
  static constexpr std::int64_t kMaxHeadSize = 256;  ///< what shared memory is asked to hold
  static constexpr float kHidden = -1.0f;  ///< in the place of a weight, which is never negative
};

/// Query heads that share a KV head.
PAGELAB_HD inline std::int64_t group_of(const PagedAttentionParams& params) {
  return params.num_query_heads / params.num_kv_heads;
}

/// Rows of a tile, BLOCK_M in vLLM: 16, or the power of two that holds a larger group.
/// \param group  query heads of a KV head
PAGELAB_HD inline std::int64_t rows_per_tile(std::int64_t group) {
  std::int64_t rows = Unified::kLeastRows;
  while (rows < group) rows = rows * 2;
  return rows;
}

/// Query tokens of a tile, BLOCK_Q in vLLM. Where the group does not divide the rows, the last ones stay
/// idle.
/// \param group  query heads of a KV head
PAGELAB_HD inline std::int64_t queries_per_tile(std::int64_t group) {
  return rows_per_tile(group) / group;
}

/// Whether a row of a tile has a query.
/// \param tile     of queries
/// \param group    query heads of a KV head
/// \param row_idx  of the tile
__device__ inline bool has_query(const QueryTile& tile, std::int64_t group, std::int64_t row_idx) {
  return row_idx / group < tile.num_rows;
}

/// The query token and the head of a row:
///
///     row_idx   0  1  2   3  4  5   6  7  8  …      a group of 3 heads
///     token     0  0  0   1  1  1   2  2  2         counted from the tile's first
///     head      0  1  2   0  1  2   0  1  2         counted from the group's first
///
/// \param params       the batch
/// \param tile         of queries
/// \param row_idx      of a row that has a query
/// \param kv_head_idx  whose group
__device__ inline QueryRow packed_row_of(const PagedAttentionParams& params,
                                         const QueryTile& tile,
                                         std::int64_t row_idx,
                                         std::int64_t kv_head_idx) {
  const std::int64_t group = group_of(params);
  const std::int64_t head_idx = kv_head_idx * group + row_idx % group;
  return query_row_of(params, tile, row_idx / group, head_idx);
}

/// A thread block's shared memory. Rows of keys are one element longer, so that threads that read the same
/// element of neighbouring keys find it in different banks.
struct PackedTileMemory {
  float* queries;  ///< [rows, head_size]
  float* keys;     ///< [keys_per_tile, head_size + 1]
  float* values;   ///< [keys_per_tile, head_size_v]
  float* weights;  ///< [rows, keys_per_tile] scores, then weights
  float* sums;     ///< [rows, head_size_v] acc, not yet divided by l
};

/// Its size in bytes.
/// \param params         the batch
/// \param keys_per_tile  of a rung
inline std::int64_t packed_tile_bytes(const PagedAttentionParams& params,
                                      std::int64_t keys_per_tile) {
  const std::int64_t rows = rows_per_tile(group_of(params));
  const std::int64_t elements = rows * (params.head_size + keys_per_tile + params.head_size_v) +
                                keys_per_tile * (params.head_size + 1 + params.head_size_v);
  return elements * static_cast<std::int64_t>(sizeof(float));
}

/// Its parts.
/// \param params         the batch
/// \param keys_per_tile  of a rung
__device__ inline PackedTileMemory packed_tile_memory(const PagedAttentionParams& params,
                                                      std::int64_t keys_per_tile) {
  const std::int64_t rows = rows_per_tile(group_of(params));
  PackedTileMemory memory;
  memory.queries = dynamic_shared_memory<float>();
  memory.keys = memory.queries + rows * params.head_size;
  memory.values = memory.keys + keys_per_tile * (params.head_size + 1);
  memory.weights = memory.values + keys_per_tile * params.head_size_v;
  memory.sums = memory.weights + rows * keys_per_tile;
  return memory;
}

/// Why a rung does not take a launch.
/// \tparam kKeysPerTile  of the rung
/// \param params         of the launch
/// \returns              which number is too large; empty if none is
template <std::int64_t kKeysPerTile>
std::string refusal_of_packed_tile(const PagedAttentionParams& params) {
  const std::int64_t group = group_of(params);
  const std::string refusals[] = {
      refusal_of_range("head_size", params.head_size, 1, Unified::kMaxHeadSize),
      refusal_of_range("head_size_v", params.head_size_v, 1, Unified::kMaxHeadSize),
      refusal_of_range("num_query_heads / num_kv_heads", group, 1, Unified::kMostRows)};
  for (const std::string& refusal : refusals) {
    if (!refusal.empty()) return refusal;
  }
  const std::int64_t bytes = packed_tile_bytes(params, kKeysPerTile);
  if (bytes <= params.max_shared_bytes) return "";
  return std::to_string(bytes) + " bytes of shared memory a thread block are needed (head_size " +
         std::to_string(params.head_size) + ", head_size_v " + std::to_string(params.head_size_v) +
         ", " + std::to_string(group) + " query heads a KV head), but " +
         std::to_string(params.max_shared_bytes) + " are available.";
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
