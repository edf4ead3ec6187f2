/// \file
/// The arrays that recorded graphs read. A recording keeps the addresses that its kernels were launched with, so the
/// arrays are allocated once, as large as the largest step, and each step is written into them before the graph is
/// replayed. Nothing of an earlier, larger step may be left behind: a graph reads as many rows as it was recorded
/// for, not as many as the step has.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/engine/step/step_builder.h"

namespace pagelab {

/// The largest step that buffers hold.
struct StepLimits {
  std::int64_t max_num_tokens = 0;      ///< query tokens, padding included
  std::int64_t max_num_reqs = 0;        ///< requests, padding included
  std::int64_t max_blocks_per_req = 0;  ///< columns of the block table
  std::int32_t padding_seq_len = 0;     ///< length of a row without a request
};

/// Persistent arrays for the steps of one model.
/// \source vLLM v1/worker/gpu_model_runner.py, the buffers of GPUModelRunner
class StepBuffers {
 public:
  /// Empty: all rows are padding. \throws Error if a limit is out of range
  explicit StepBuffers(const StepLimits& limits);
  StepBuffers(const StepBuffers&) = delete;             ///< a copy would be read by no graph
  StepBuffers& operator=(const StepBuffers&) = delete;  ///< likewise

  /// Writes a step in place; everything behind it becomes padding.
  /// \throws Error  if it does not fit
  void update(const BuiltStep& step);

  const std::int32_t* query_start_loc() const {
    return query_start_loc_.data();
  }                                                                  ///< [max_num_reqs + 1]
  const std::int32_t* seq_lens() const { return seq_lens_.data(); }  ///< [max_num_reqs]
  const std::int32_t* block_table() const {
    return block_table_.data();
  }  ///< [max_num_reqs, max_blocks_per_req]
  const std::int64_t* slot_mapping() const { return slot_mapping_.data(); }  ///< [max_num_tokens]

  /// What a graph reads that was recorded for so many tokens and requests: their first rows, as they are now.
  /// \throws Error  if the buffers are smaller than that
  CommonAttentionMetadata read(const PaddedShape& recorded) const;

 private:
  StepLimits limits_;
  std::vector<std::int32_t> query_start_loc_;
  std::vector<std::int32_t> seq_lens_;
  std::vector<std::int32_t> block_table_;
  std::vector<std::int64_t> slot_mapping_;
};

}  // namespace pagelab
