/// \file
/// The step builder: from what the scheduler decided, numbers of tokens and block ids, to the arrays that every
/// attention backend reads. It pads first and builds then, so that all arrays have the padded size.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "reference/cache/slot_mapping.h"
#include "reference/contract/attention_step.h"
#include "simulator/engine/block_id.h"
#include "simulator/engine/step/batch_split.h"
#include "simulator/engine/step/scheduled_request.h"

namespace pagelab {

/// One request of a step, with its blocks.
struct StepRequest {
  ScheduledRequest scheduled;  ///< its numbers
  std::vector<std::int32_t>
      block_ids;  ///< all its blocks, in logical order; kNullBlock: dropped from a window
};

/// What stays the same from step to step.
struct StepLayout {
  std::int64_t block_size = 16;  ///< tokens a block of the manager
  std::int64_t max_blocks_per_req =
      0;  ///< columns of the block table; 0: as many as the longest row needs
  ContextParallel parallel = {};     ///< this rank among those that share the tokens
  std::int32_t padding_seq_len = 0;  ///< length of a padded row: what the backend can bear
};

/// The size that a recorded graph has. A step is filled up to it.
struct PaddedShape {
  std::int64_t num_tokens = 0;  ///< at least the step's
  std::int64_t num_reqs = 0;    ///< at least the step's
};

/// One step, ready for a backend.
struct BuiltStep {
  CommonAttentionMetadata metadata;     ///< padded; its block table ends in null blocks
  std::vector<std::int64_t> positions;  ///< [num_actual_tokens] place of each token in its request
  std::vector<bool> is_prefilling;      ///< [num_reqs] false for padding

  /// The rows as split_decodes_and_prefills reads them.
  std::vector<BatchRow> rows() const;
};

/// Builds a step.
///
///     three requests with 1, 1 and 3 tokens, padded to 8 tokens and 4 requests:
///     query_start_loc  0 1 2 5 5           what follows the batch repeats its end
///     seq_lens         computed + scheduled, then padding_seq_len
///     block_table      block ids, then null blocks
///     slot_mapping     5 slots, then −1 three times
/// \param requests  in the batch's order
/// \param layout    sizes
/// \param padding   none: nothing is padded
/// \throws Error    if a number is out of range, or a token has no block to go to
/// \source          vLLM v1/worker/gpu_model_runner.py, _prepare_inputs and _build_attention_metadata
BuiltStep build_step(const std::vector<StepRequest>& requests,
                     const StepLayout& layout,
                     const std::optional<PaddedShape>& padding = {});

/// Columns of a block table: enough for the longest request, and for a multiple of 128 tokens.
/// \throws Error  if a number is below 1
std::int64_t block_table_columns(std::int64_t max_model_len, std::int64_t block_size);

}  // namespace pagelab
