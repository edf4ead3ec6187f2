/// \file
/// The order of the requests in a batch. Some backends run decodes and prefills with different kernels, each over one
/// stretch of the batch, so the runner sorts requests by kind before it builds the step. The batch persists
/// from step to step, and moving a request copies its row of every table: so as few as possible move.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "simulator/engine/step/scheduled_request.h"

namespace pagelab {

/// What a request does in a step, in the order in which the kinds stand in a batch.
enum class RequestKind : std::uint8_t {
  kDecode = 0,       ///< its prompt is done, and few tokens are scheduled
  kShortExtend = 1,  ///< its prompt goes on with few tokens
  kLongExtend = 2,   ///< something is computed, and many tokens are scheduled
  kPrefill = 3,      ///< nothing is computed yet
};

/// The kind of a request.
/// \param request           its numbers
/// \param decode_threshold  up to so many scheduled tokens are "few"
RequestKind request_kind(const ScheduledRequest& request, std::int64_t decode_threshold);

/// What reordering a batch comes to.
struct BatchReorder {
  bool modified = false;  ///< whether any request moved
  /// [num_reqs] which request, by its place before, stands at each place now.
  std::vector<std::int64_t> order;
  /// The exchanges of two places that lead there, in the order in which they are made.
  std::vector<std::pair<std::int64_t, std::int64_t>> swaps;
};

/// Moves the requests that stand in another kind's stretch, and no others; so within a kind the order may change.
/// \param requests          the batch as it stands
/// \param decode_threshold  reorder_batch_threshold, the minimum over all groups that have one
/// \throws Error            if the threshold is below 1, or a request's number is out of range
/// \source                  vLLM v1/attention/backends/utils.py, reorder_batch_to_split_decodes_and_prefills
BatchReorder reorder_batch_to_split_decodes_and_prefills(
    const std::vector<ScheduledRequest>& requests, std::int64_t decode_threshold);

/// The second model runner's order: it builds its batch anew in each step, and sorts it. Requests with drafts
/// come first, then decodes, then the others by their number of tokens; equal ones stay in the scheduler's order.
/// \param requests          in the scheduler's order
/// \param decode_query_len  query tokens of a decode: 1 + draft tokens
/// \returns                 [num_reqs] which request stands at each place
/// \throws Error            if the length is below 1, or a request's number is out of range
/// \source                  vLLM v1/worker/gpu/model_runner.py, prepare_inputs
std::vector<std::int64_t> sorted_batch(const std::vector<ScheduledRequest>& requests,
                                       std::int64_t decode_query_len);

}  // namespace pagelab
