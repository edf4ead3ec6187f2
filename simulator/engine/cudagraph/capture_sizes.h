/// \file
/// Capture sizes: for which numbers of tokens a graph is recorded. A step is padded to the next one, so many
/// sizes waste little work, and few save memory and the time to record them at start.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace pagelab {

/// What the capture sizes follow from.
/// \source vLLM config/vllm.py, VllmConfig._set_cudagraph_sizes
struct CaptureSizeSettings {
  std::int64_t max_num_seqs = 256;             ///< requests in a batch
  std::int64_t max_num_batched_tokens = 2048;  ///< tokens in a step
  std::int64_t uniform_decode_query_len = 1;   ///< query tokens of a decode: 1 + draft tokens
  std::optional<std::vector<std::int64_t>> cudagraph_capture_sizes = {};  ///< the user's own list
  std::optional<std::int64_t> max_cudagraph_capture_size = {};  ///< the user's own maximum
  bool interactivity = false;          ///< performance mode for few users: every size up to 32
  bool data_centre_blackwell = false;  ///< a GPU of capability 10.x, whose ceiling is 1024 tokens
};

/// The numbers of tokens to record.
struct CaptureSizes {
  std::vector<std::int64_t> sizes;  ///< ascending, distinct
  std::int64_t max = 0;             ///< the last of them; 0 if there is none
};

/// The default list, or the user's own, cut to what a step can hold.
/// \throws Error  if a setting is below 1, the user's list is empty, or list and maximum contradict
CaptureSizes capture_sizes(const CaptureSizeSettings& settings);

}  // namespace pagelab
