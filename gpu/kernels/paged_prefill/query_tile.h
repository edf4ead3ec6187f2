/// \file
/// Which queries a thread block of paged_prefill attends for, and which keys these see: the index
/// arithmetic that all rungs of the ladder share.
#pragma once

#include <cstdint>

#include "gpu/device/keywords.h"
#include "gpu/kernels/paged_attention/page_table.h"
#include "gpu/kernels/paged_attention/params.h"
#include "gpu/kernels/paged_attention/query_row.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// Neighbouring query tokens of one request. The same for all threads of a thread block.
struct QueryTile {
  std::int64_t first_token;     ///< row of the batch
  std::int32_t num_rows;        ///< queries; 0: there is nothing to do
  bool is_padding;              ///< rows of no request; then what follows says nothing
  std::int32_t req_idx;         ///< request
  std::int32_t seq_len;         ///< keys of the request
  std::int32_t first_position;  ///< of the first query in the request; may be negative
};

/// A number that is not below `least` and not above `most`.
__device__ inline std::int64_t clamped(std::int64_t value, std::int64_t least, std::int64_t most) {
  return value < least ? least : value > most ? most : value;
}

/// Tiles that a launch has room for. Some stay empty: how many each request has, only the device knows.
/// \param params            the batch
/// \param queries_per_tile  of a rung
inline std::int64_t num_query_tiles(const PagedAttentionParams& params,
                                    std::int64_t queries_per_tile) {
  return params.num_tokens / queries_per_tile + params.num_reqs + 1;
}

/// The number of a request's first tile, so that no table of tiles is needed: query_start_loc[r] / tile
/// + r, rounded down. The + r leaves room for the tile that each request begins anew:
///
///     tile of 4, query_start_loc = [0, 5, 6, 12]     request 0: tiles 0, 1   1: tile 2   2: tiles 3, 4
///
/// The rows past the last request, which are padding, count as one more request.
/// Source: vLLM, v1/attention/ops/triton_unified_attention.py, find_seq_idx.
__device__ inline std::int64_t first_tile_of_request(const PagedAttentionParams& params,
                                                     std::int64_t req_idx,
                                                     std::int64_t queries_per_tile) {
  return params.query_start_loc[req_idx] / queries_per_tile + req_idx;
}

/// The tile of a number, found by binary search: the last request whose first tile is not after it.
/// \param params            the batch
/// \param tile_idx          less than num_query_tiles()
/// \param queries_per_tile  of a rung
__device__ inline QueryTile query_tile_of(const PagedAttentionParams& params,
                                          std::int64_t tile_idx,
                                          std::int64_t queries_per_tile) {
  std::int64_t req_idx = 0;
  std::int64_t beyond = params.num_reqs + 1;
  while (beyond - req_idx > 1) {
    const std::int64_t middle = req_idx + (beyond - req_idx) / 2;
    if (first_tile_of_request(params, middle, queries_per_tile) <= tile_idx) {
      req_idx = middle;
    } else {
      beyond = middle;
    }
  }
  QueryTile tile;
  tile.is_padding = req_idx == params.num_reqs;
  const std::int64_t end_of_request =
      tile.is_padding ? params.num_tokens : params.query_start_loc[req_idx + 1];
  const std::int64_t tile_of_request =
      tile_idx - first_tile_of_request(params, req_idx, queries_per_tile);
  tile.first_token = params.query_start_loc[req_idx] + tile_of_request * queries_per_tile;
  const std::int64_t rows_left = end_of_request - tile.first_token;
  tile.num_rows = static_cast<std::int32_t>(clamped(rows_left, 0, queries_per_tile));
  tile.req_idx = static_cast<std::int32_t>(req_idx);
  tile.seq_len = tile.is_padding ? 0 : static_cast<std::int32_t>(seq_len_of(params, req_idx));
  tile.first_position = static_cast<std::int32_t>(tile.seq_len - rows_left);
  return tile;
}

/// One row of a tile, for what is written for single rows.
/// \param params    the batch
/// \param tile      not of padding
/// \param row_idx   less than tile.num_rows
/// \param head_idx  query head
__device__ inline QueryRow query_row_of(const PagedAttentionParams& params,
                                        const QueryTile& tile,
                                        std::int64_t row_idx,
                                        std::int64_t head_idx) {
  QueryRow row;
  row.token_idx = tile.first_token + row_idx;
  row.head_idx = head_idx;
  row.kv_head_idx = head_idx / (params.num_query_heads / params.num_kv_heads);
  row.is_padding = tile.is_padding;
  row.req_idx = tile.req_idx;
  row.seq_len = tile.seq_len;
  row.position = tile.first_position + row_idx;
  return row;
}

/// The keys that the rule shows to one row: a single stretch, which may be empty.
/// \param rule      causality and window
/// \param position  of the query
/// \param seq_len   keys of its request
__device__ inline KeyRange visible_by_rule(const VisibilityRule& rule,
                                           std::int64_t position,
                                           std::int64_t seq_len) {
  KeyRange keys = {0, seq_len};
  if (rule.window_left != kUnbounded && position - rule.window_left > 0) {
    keys.begin = position - rule.window_left;
  }
  if (rule.causal && position + 1 < keys.end) keys.end = position + 1;
  if (rule.window_right != kUnbounded && position + rule.window_right + 1 < keys.end) {
    keys.end = position + rule.window_right + 1;
  }
  return keys;
}

/// A stretch of keys outside which no row of a tile sees any. The first and the last of them are seen by
/// some row; with prefix ranges there may be gaps.
/// \param params  rule and ranges
/// \param tile    not of padding, with a row
__device__ inline KeyRange visible_keys_of(const PagedAttentionParams& params,
                                           const QueryTile& tile) {
  const std::int64_t first = tile.first_position;
  const std::int64_t last = first + tile.num_rows - 1;
  KeyRange keys;
  keys.begin = visible_by_rule(params.visibility, first, tile.seq_len).begin;
  keys.end = visible_by_rule(params.visibility, last, tile.seq_len).end;
  if (keys.begin >= keys.end) keys = {tile.seq_len, 0};  // none so far
  for (std::int64_t range_idx = 0; range_idx < params.num_mm_prefix_ranges; ++range_idx) {
    const MmPrefixRange range = params.mm_prefix_ranges[range_idx];
    const bool touches = range.req_idx == tile.req_idx && range.first < range.last &&
                         range.first <= last && range.last >= first;
    if (!touches) continue;
    if (range.first < keys.begin) keys.begin = range.first < 0 ? 0 : range.first;
    if (range.last + 1 > keys.end) keys.end = range.last + 1;
  }
  if (keys.end > tile.seq_len) keys.end = tile.seq_len;
  if (keys.begin >= keys.end) return {0, 0};
  return keys;
}

/// The keys that every row of a tile sees by the rule: a single stretch, which may be empty. A prefix range
/// may show them more.
/// \param params  rule
/// \param tile    not of padding
__device__ inline KeyRange seen_by_all(const PagedAttentionParams& params, const QueryTile& tile) {
  const std::int64_t first = tile.first_position;
  const std::int64_t last = first + tile.num_rows - 1;
  const KeyRange of_first = visible_by_rule(params.visibility, first, tile.seq_len);
  const KeyRange of_last = visible_by_rule(params.visibility, last, tile.seq_len);
  return {of_last.begin, of_first.end};
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
