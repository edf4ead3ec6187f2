/// \file
/// What the merge_states kernel gets: two batches of attention states over different keys.
#pragma once

#include <cstdint>

namespace pagelab {

/// One launch merges all rows. Plain data, passed by value; pointers are device addresses. Output and LSE
/// may be those of the prefix or the suffix: a thread reads its elements before it writes them.
struct MergeStatesParams {
  const float* prefix_output = nullptr;  ///< [num_tokens, num_query_heads, head_size_v]
  const float* prefix_lse = nullptr;     ///< [num_query_heads, num_tokens] natural log
  const float* suffix_output = nullptr;  ///< [num_tokens, num_query_heads, head_size_v]
  const float* suffix_lse = nullptr;     ///< [num_query_heads, num_tokens] natural log
  std::int64_t num_tokens = 0;           ///< rows of a head
  std::int64_t num_query_heads = 0;      ///< heads
  std::int64_t head_size_v = 0;          ///< elements of an output
  float* output = nullptr;               ///< [num_tokens, num_query_heads, head_size_v]
  float* lse = nullptr;                  ///< [num_query_heads, num_tokens] natural log
};

}  // namespace pagelab
