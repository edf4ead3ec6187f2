/// \file
/// A context in segments, each attended by a thread block of its own, and where these leave what they found
/// until the reduce. Where paged_decode's partitions have a constant length, here their number is constant.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/kernels/paged_attention/params.h"
#include "reference/contract/error.h"
#include "reference/numerics/target.h"

namespace pagelab {

/// Segments of every context, however long.
/// \source vLLM, v1/attention/backends/triton_attn.py, NUM_PAR_SOFTMAX_SEGMENTS
inline constexpr std::int64_t kSegments = 16;

/// Keys of a tile in the segmented form; a segment is a number of whole tiles.
/// \source vLLM, v1/attention/ops/triton_unified_attention.py, TILE_SIZE_DECODE
inline constexpr std::int64_t kSegmentTileKeys = 16;

inline namespace PAGELAB_TARGET {

/// Keys of a segment: a sixteenth of the sequence, rounded up to whole tiles. By the request's own length
/// alone, so that a row's order of additions is the same in every batch.
/// \param seq_len  keys of the request
PAGELAB_HD inline std::int64_t keys_per_segment(std::int64_t seq_len) {
  const std::int64_t keys_of_a_tile_each = kSegments * kSegmentTileKeys;
  const std::int64_t tiles_per_segment = (seq_len + keys_of_a_tile_each - 1) / keys_of_a_tile_each;
  return tiles_per_segment * kSegmentTileKeys;
}

/// Segments in which a sequence has keys: 37 keys fill 2 segments of one tile and begin a third.
/// \param seq_len  keys of the request
PAGELAB_HD inline std::int64_t num_active_segments(std::int64_t seq_len) {
  if (seq_len == 0) return 0;
  const std::int64_t keys = keys_per_segment(seq_len);
  return (seq_len + keys - 1) / keys;
}

/// What the segments of each row leave, all in float32. Rows are (token, query head), as in the output.
struct SegmentStates {
  std::int64_t head_size_v;  ///< elements of an output
  float* segm_max;           ///< [num_rows, kSegments] m
  float* segm_expsum;        ///< [num_rows, kSegments] l
  float* segm_output;        ///< [num_rows, kSegments, head_size_v] acc, not divided by l

  /// Where a row's segment is in segm_max and segm_expsum.
  PAGELAB_HD static std::int64_t index(std::int64_t row_idx, std::int64_t segment) {
    return row_idx * kSegments + segment;
  }
  /// A row's segment of segm_output.
  PAGELAB_HD float* output(std::int64_t row_idx, std::int64_t segment) const {
    return segm_output + index(row_idx, segment) * head_size_v;
  }
};

/// Floats of workspace that a launch needs.
inline std::int64_t unified_workspace_floats(const PagedAttentionParams& params) {
  const std::int64_t num_rows = params.num_tokens * params.num_query_heads;
  return num_rows * kSegments * (params.head_size_v + 2);
}

/// The workspace of a launch, in its parts.
PAGELAB_HD inline SegmentStates segment_states(const PagedAttentionParams& params) {
  const std::int64_t num_states = params.num_tokens * params.num_query_heads * kSegments;
  SegmentStates states;
  states.head_size_v = params.head_size_v;
  states.segm_max = params.workspace;
  states.segm_expsum = states.segm_max + num_states;
  states.segm_output = states.segm_expsum + num_states;
  return states;
}

/// \param kernel  name for the message
/// \param params  of the launch
/// \throws Error  if there is less workspace than it needs
inline void require_segment_workspace(const char* kernel, const PagedAttentionParams& params) {
  const std::int64_t needed = unified_workspace_floats(params);
  const std::int64_t given = params.workspace != nullptr ? params.workspace_floats : 0;
  if (given >= needed) return;
  throw Error(std::string(kernel) + ": workspace_floats is " + std::to_string(given) + ", but " +
              std::to_string(needed) + " are needed (" +
              std::to_string(params.num_tokens * params.num_query_heads) + " rows, " +
              std::to_string(kSegments) + " segments, head_size_v " +
              std::to_string(params.head_size_v) + ").");
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
