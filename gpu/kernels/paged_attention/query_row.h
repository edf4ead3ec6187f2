/// \file
/// Which row of the batch a thread works for, and which keys that row sees: the index arithmetic
/// that all paged-attention kernels share.
#pragma once

#include <cstdint>

#include "gpu/device/keywords.h"
#include "gpu/kernels/paged_attention/page_table.h"
#include "gpu/kernels/paged_attention/params.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// One query token of one head. Per thread.
struct QueryRow {
  std::int64_t token_idx;    ///< row of the batch
  std::int64_t head_idx;     ///< query head
  std::int64_t kv_head_idx;  ///< the KV head that it shares with its group
  bool is_padding;           ///< belongs to no request; then what follows says nothing
  std::int64_t req_idx;      ///< request
  std::int64_t seq_len;      ///< keys of the request
  std::int64_t position;     ///< in the request; negative where a query exceeds its sequence
};

/// The request that a token belongs to: the last one that starts at or before it and is not empty.
/// Binary search, because requests have different lengths.
/// \param query_start_loc  [num_reqs + 1], ascending
/// \param num_reqs         requests of the batch
/// \param token_idx        before query_start_loc[num_reqs]
__device__ inline std::int64_t request_of_token(const std::int32_t* query_start_loc,
                                                std::int64_t num_reqs,
                                                std::int64_t token_idx) {
  std::int64_t first = 0;          // query_start_loc[first] ≤ token_idx
  std::int64_t beyond = num_reqs;  // query_start_loc[beyond] > token_idx
  while (beyond - first > 1) {
    const std::int64_t middle = first + (beyond - first) / 2;
    if (query_start_loc[middle] <= token_idx) {
      first = middle;
    } else {
      beyond = middle;
    }
  }
  return first;
}

/// The row of a token and head. Causality is anchored at the bottom right: the last query of a
/// request has the position of its last key.
__device__ inline QueryRow query_row_of(const PagedAttentionParams& params,
                                        std::int64_t token_idx,
                                        std::int64_t head_idx) {
  QueryRow row;
  row.token_idx = token_idx;
  row.head_idx = head_idx;
  row.kv_head_idx = head_idx / (params.num_query_heads / params.num_kv_heads);
  row.is_padding = token_idx >= params.query_start_loc[params.num_reqs];
  row.req_idx = 0;
  row.seq_len = 0;
  row.position = 0;
  if (row.is_padding) return row;
  row.req_idx = request_of_token(params.query_start_loc, params.num_reqs, token_idx);
  row.seq_len = seq_len_of(params, row.req_idx);
  const std::int64_t end_of_request = params.query_start_loc[row.req_idx + 1];
  row.position = row.seq_len - (end_of_request - token_idx);
  return row;
}

/// The row of a token and head. In a batch of decodes, request r has token r: that is asked first, before a
/// search in which every step waits for memory.
__device__ inline QueryRow decode_row_of(const PagedAttentionParams& params,
                                         std::int64_t token_idx,
                                         std::int64_t head_idx) {
  const std::int32_t token = static_cast<std::int32_t>(token_idx);
  const bool is_decode = token_idx < params.num_reqs &&
                         params.query_start_loc[token_idx] == token &&
                         params.query_start_loc[token_idx + 1] == token + 1;
  if (!is_decode) return query_row_of(params, token_idx, head_idx);
  QueryRow row;
  row.token_idx = token_idx;
  row.head_idx = head_idx;
  row.kv_head_idx = head_idx / (params.num_query_heads / params.num_kv_heads);
  row.is_padding = false;
  row.req_idx = token_idx;
  row.seq_len = seq_len_of(params, token_idx);
  row.position = row.seq_len - 1;
  return row;
}

/// Whether this row sees the key at a position of its request.
__device__ inline bool sees(const PagedAttentionParams& params,
                            const QueryRow& row,
                            std::int64_t key_position) {
  return is_visible_by_rule(params.visibility, row.position, key_position) ||
         is_visible_by_prefix_range(params.mm_prefix_ranges, params.num_mm_prefix_ranges,
                                    row.req_idx, row.position, key_position);
}

/// Where the keys that this row sees begin and end. There may be hidden ones in between, where a
/// prefix range lies apart from the window; the first and the last are seen.
/// \param params  the step
/// \param row     no padding
/// \returns       begin ≥ end if it sees none
__device__ inline KeyRange visible_range(const PagedAttentionParams& params, const QueryRow& row) {
  const VisibilityRule& rule = params.visibility;
  KeyRange visible = {0, row.seq_len};
  if (rule.window_left != kUnbounded && row.position - rule.window_left > visible.begin) {
    visible.begin = row.position - rule.window_left;
  }
  if (rule.window_right != kUnbounded && row.position + rule.window_right + 1 < visible.end) {
    visible.end = row.position + rule.window_right + 1;
  }
  if (rule.causal && row.position + 1 < visible.end) visible.end = row.position + 1;
  for (std::int64_t range_idx = 0; range_idx < params.num_mm_prefix_ranges; ++range_idx) {
    const MmPrefixRange range = params.mm_prefix_ranges[range_idx];
    if (range.req_idx != row.req_idx || range.first >= range.last) continue;
    if (row.position < range.first || row.position > range.last) continue;
    const bool was_empty = visible.begin >= visible.end;
    const std::int64_t end = range.last + 1 < row.seq_len ? range.last + 1 : row.seq_len;
    if (was_empty || range.first < visible.begin) visible.begin = range.first;
    if (was_empty || end > visible.end) visible.end = end;
  }
  return visible;
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
