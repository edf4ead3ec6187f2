/// \file
/// A request as the worker sees it in one step: three numbers. Everything that is decided about a batch's order and
/// shape follows from them.
#pragma once

#include <cstdint>
#include <vector>

namespace pagelab {

/// One request of a step.
struct ScheduledRequest {
  std::int64_t num_scheduled_tokens = 0;  ///< query tokens in this step
  std::int64_t num_computed_tokens = 0;   ///< tokens whose keys and values are in the cache already
  std::int64_t num_prompt_tokens = 0;     ///< tokens of the prompt
  std::int64_t num_draft_tokens = 0;      ///< of the scheduled ones, how many are guesses

  /// Tokens that are in the cache after this step.
  std::int64_t seq_len() const { return num_computed_tokens + num_scheduled_tokens; }
  /// Whether part of the prompt was still to be computed when this step began.
  bool is_prefilling() const { return num_computed_tokens < num_prompt_tokens; }
};

/// Checks a batch. \throws Error  naming the request and the number that is out of range
void require_sound(const std::vector<ScheduledRequest>& requests);

}  // namespace pagelab
