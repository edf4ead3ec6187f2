/// \file
/// What one attention call may vary, as plain numbers that the reference and every kernel share:
/// which keys a query sees, and what is added to its scores. The order is always scale, soft cap,
/// bias, mask.
#pragma once

#include <cstdint>

#include "reference/numerics/target.h"

namespace pagelab {

/// Whose keys a query attends over.
/// \source vLLM v1/attention/backend.py, AttentionType
enum class AttnType : std::uint8_t {
  kDecoder,         ///< the request's own tokens, from the cache
  kEncoderOnly,     ///< this step's tokens of the same request; no cache; not causal
  kEncoderDecoder,  ///< the encoder's tokens, from the cache; not causal, no positions
};

/// "Every key on this side is visible", in a sliding window.
inline constexpr std::int32_t kUnbounded = -1;

/// Positions [first, last] of one request, inclusive, that all see each other (prefix-LM, images).
struct MmPrefixRange {
  std::int32_t req_idx;  ///< request
  std::int32_t first;    ///< first position
  std::int32_t last;     ///< last position, inclusive; a range of one position has no effect
};

/// Which keys a query sees. Positions are absolute: query i of a request has seq_len − query_len +
/// i.
struct VisibilityRule {
  bool causal = true;                      ///< a key after the query is hidden
  std::int32_t window_left = kUnbounded;   ///< keys before the query's own, or kUnbounded
  std::int32_t window_right = kUnbounded;  ///< keys after the query's own, or kUnbounded
};

/// A stretch of positions, end excluded.
struct KeyRange {
  std::int64_t begin = 0;  ///< first position
  std::int64_t end = 0;    ///< one past the last
};

inline namespace PAGELAB_TARGET {

/// Whether the causal rule and the window show a key. (A prefix-LM range may show it all the same.)
/// A window of W tokens that includes the query's own is left = W − 1.
PAGELAB_HD inline bool is_visible_by_rule(const VisibilityRule& rule,
                                          std::int64_t query_position,
                                          std::int64_t key_position) {
  const std::int64_t distance_back = query_position - key_position;
  if (rule.causal && distance_back < 0) return false;
  if (rule.window_left != kUnbounded && distance_back > rule.window_left) return false;
  if (rule.window_right != kUnbounded && -distance_back > rule.window_right) return false;
  return true;
}

/// Whether some prefix-LM range of this request holds both positions.
/// \param ranges          [num_ranges], of all requests
/// \param num_ranges      how many
/// \param req_idx         the request that query and key belong to
/// \param query_position  position of the query in it
/// \param key_position    position of the key in it
PAGELAB_HD inline bool is_visible_by_prefix_range(const MmPrefixRange* ranges,
                                                  std::int64_t num_ranges,
                                                  std::int64_t req_idx,
                                                  std::int64_t query_position,
                                                  std::int64_t key_position) {
  for (std::int64_t range_idx = 0; range_idx < num_ranges; ++range_idx) {
    const MmPrefixRange range = ranges[range_idx];
    if (range.req_idx == req_idx && range.first < range.last &&  //
        range.first <= query_position && query_position <= range.last &&
        range.first <= key_position && key_position <= range.last) {
      return true;
    }
  }
  return false;
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
