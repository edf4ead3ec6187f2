/// \file
/// The second model runner's graphs and the choice among them. Where the first runner computes one key and looks
/// it up, this one keeps a list of candidates and takes the first that can hold the batch: a graph recorded for
/// more requests, or for longer queries, serves fewer and shorter ones.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "simulator/engine/cudagraph/batch_descriptor.h"

namespace pagelab {

/// What graphs are recorded for.
struct CudagraphManagerSettings {
  CUDAGraphMode mode = CUDAGraphMode::kFullAndPiecewise;  ///< resolved (mode_resolution.h)
  std::vector<std::int64_t> capture_sizes = {};           ///< tokens, ascending; rounded here
  std::int64_t decode_query_len = 1;                      ///< query tokens of a decode: 1 + drafts
  bool varlen_decode = false;                  ///< decodes of different lengths may share a graph
  std::int64_t max_num_seqs = 256;             ///< requests in a batch
  std::vector<std::int64_t> lora_cases = {0};  ///< numbers of adapters, ascending (lora_cases.h)
};

/// What is asked in each step.
struct BatchShape {
  std::int64_t num_reqs = 0;    ///< scheduled requests
  std::int64_t num_tokens = 0;  ///< scheduled tokens
  std::optional<std::int64_t> uniform_token_count =
      {};                                          ///< query tokens of every request, if equal
  std::optional<std::int64_t> max_query_len = {};  ///< the longest query, if known
  std::int64_t num_active_loras = 0;               ///< adapters that the batch uses
};

/// The recorded graphs, and the choice among them.
/// \source vLLM v1/worker/gpu/cudagraph_utils.py, CudaGraphManager
class CudaGraphManager {
 public:
  /// \throws Error  if a setting is out of range, or sizes or LoRA cases do not ascend
  explicit CudaGraphManager(CudagraphManagerSettings settings);

  /// What it records for.
  const CudagraphManagerSettings& settings() const { return settings_; }

  /// The recorded graphs, in the order in which they are tried.
  const std::vector<BatchExecutionDescriptor>& candidates() const { return candidates_; }

  /// All graphs in the order in which they are recorded: the largest first. A mode without graphs is left out.
  std::vector<std::pair<CUDAGraphMode, std::vector<BatchExecutionDescriptor>>> get_capture_descs()
      const;

  /// The graph that replays a step; NONE with the batch's own numbers if there is none.
  /// \throws Error  if a number is out of range
  BatchExecutionDescriptor dispatch(const BatchShape& batch) const;

 private:
  void add_candidates_of_size(std::int64_t size, std::int64_t num_active_loras);
  std::optional<BatchExecutionDescriptor> decode_graph(std::int64_t size) const;
  void add(BatchExecutionDescriptor graph, std::int64_t num_active_loras);
  std::int64_t captured_loras(std::int64_t num_active_loras) const;
  std::optional<BatchExecutionDescriptor> first_fit(CUDAGraphMode mode,
                                                    const BatchShape& batch) const;

  CudagraphManagerSettings settings_;
  std::vector<BatchExecutionDescriptor> candidates_;
};

}  // namespace pagelab
