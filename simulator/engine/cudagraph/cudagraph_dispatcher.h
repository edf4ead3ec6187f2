/// \file
/// The dispatcher of the first model runner: which recorded graph, if any, replays a step. It pads the number of
/// tokens to the next capture size and looks the padded batch up; FULL is tried before PIECEWISE, and a batch that
/// fits neither is launched kernel by kernel.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "simulator/engine/cudagraph/batch_descriptor.h"
#include "simulator/engine/cudagraph/cudagraph_mode.h"
#include "simulator/engine/cudagraph/lora_cases.h"

namespace pagelab {

/// What the dispatcher records for.
struct CudagraphSettings {
  CUDAGraphMode mode = CUDAGraphMode::kFullAndPiecewise;  ///< resolved (mode_resolution.h)
  std::vector<std::int64_t> capture_sizes = {};  ///< tokens, ascending (capture_sizes.h), rounded
  std::int64_t uniform_decode_query_len = 1;     ///< query tokens of a decode: 1 + draft tokens
  std::int64_t max_num_seqs = 256;               ///< requests in a batch
  std::optional<LoraCaptureSettings> lora = {};  ///< none: the model serves no adapters
};

/// What is asked of the dispatcher in each step.
struct StepShape {
  std::int64_t num_tokens = 0;        ///< scheduled tokens
  bool uniform_decode = false;        ///< every request has uniform_decode_query_len of them
  std::int64_t num_active_loras = 0;  ///< adapters that the batch uses
};

/// Modes that a step may run as.
struct AllowedModes {
  bool none = true;       ///< NONE; what is left when nothing else fits, even if it is not allowed
  bool piecewise = true;  ///< PIECEWISE
  bool full = true;       ///< FULL; not with a cascade step, whose kernels are others
};

/// Whether every request of a batch is a decode: all have the same number of query tokens, and it is this one.
/// \param max_query_len             the longest query of the batch
/// \param num_tokens                scheduled tokens
/// \param num_reqs                  requests
/// \param uniform_decode_query_len  query tokens of a decode
bool is_uniform_decode(std::int64_t max_query_len,
                       std::int64_t num_tokens,
                       std::int64_t num_reqs,
                       std::int64_t uniform_decode_query_len);

/// The recorded graphs, and the choice among them.
/// \source vLLM v1/cudagraph_dispatcher.py, CudagraphDispatcher
class CudagraphDispatcher {
 public:
  /// \throws Error  if a setting is below 1, or the sizes do not ascend
  explicit CudagraphDispatcher(CudagraphSettings settings);

  /// What it records for.
  const CudagraphSettings& settings() const { return settings_; }

  /// The graphs of a mode. \param mode  PIECEWISE or FULL; others have none
  const std::set<BatchDescriptor>& keys(CUDAGraphMode mode) const;

  /// All graphs in the order in which they are recorded: the largest first, so that the smaller ones find
  /// memory that is there already. A mode without graphs is left out.
  std::vector<std::pair<CUDAGraphMode, std::vector<BatchDescriptor>>> get_capture_descs() const;

  /// The graph that replays a step.
  /// \throws Error  if a number is negative, or a uniform batch is not made of whole decodes
  CudagraphDispatch dispatch(const StepShape& step, const AllowedModes& allowed = {}) const;

 private:
  void add_mixed_keys();
  void add_decode_keys();
  std::int64_t padded(std::int64_t num_tokens) const;
  BatchDescriptor descriptor_of(const StepShape& step) const;

  CudagraphSettings settings_;
  std::vector<std::int64_t> lora_cases_;
  std::set<BatchDescriptor> piecewise_keys_;
  std::set<BatchDescriptor> full_keys_;
};

}  // namespace pagelab
