/// \file
/// What identifies a recorded graph: everything about a batch that is baked into the recorded launches. A batch
/// may be replayed by a graph only if all of it agrees; what differs from step to step beyond it (lengths, block
/// tables, slots) lies in device memory, and is written anew before each replay.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "simulator/engine/cudagraph/cudagraph_mode.h"

namespace pagelab {

/// A graph of the first model runner.
/// \source vLLM forward_context.py, BatchDescriptor
struct BatchDescriptor {
  std::int64_t num_tokens = 0;  ///< padded
  std::optional<std::int64_t> num_reqs =
      {};                             ///< padded; unset: any number, attention is not recorded
  bool uniform = false;               ///< every request has as many query tokens
  bool has_lora = false;              ///< adapters take part
  std::int64_t num_active_loras = 0;  ///< rounded up to a case (lora_cases.h)
  /// Field by field.
  auto operator<=>(const BatchDescriptor&) const = default;
};

/// "16 tokens, 4 requests, uniform".
std::string to_string(const BatchDescriptor& descriptor);

/// How one step runs.
struct CudagraphDispatch {
  CUDAGraphMode mode = CUDAGraphMode::kNone;  ///< NONE, PIECEWISE or FULL
  BatchDescriptor descriptor;                 ///< the graph; for NONE, the bare number of tokens
};

/// "FULL of 4 tokens, 4 requests, uniform".
std::string to_string(const CudagraphDispatch& dispatch);

/// A graph of the second model runner.
/// \source vLLM v1/worker/gpu/cudagraph_utils.py, BatchExecutionDescriptor
struct BatchExecutionDescriptor {
  CUDAGraphMode cg_mode = CUDAGraphMode::kNone;  ///< NONE, PIECEWISE or FULL
  std::int64_t num_tokens = 0;                   ///< padded
  std::optional<std::int64_t> num_reqs = {};     ///< at most so many; unset: any number
  std::optional<std::int64_t> uniform_token_count =
      {};                                          ///< query tokens of every request; unset: any
  std::optional<std::int64_t> max_query_len = {};  ///< at most so many a request; unset: any
  std::int64_t num_active_loras = 0;               ///< exactly so many
  /// Field by field.
  auto operator<=>(const BatchExecutionDescriptor&) const = default;
};

/// "FULL: 16 tokens, 4 requests of 4".
std::string to_string(const BatchExecutionDescriptor& descriptor);

}  // namespace pagelab
