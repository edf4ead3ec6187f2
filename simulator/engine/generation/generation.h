/// \file
/// Texts to be continued: what a user asks for, what has been generated, and what no pool could help.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "reference/model/llama_config.h"

namespace pagelab {

/// Why a text ended.
enum class FinishReason : std::uint8_t {
  kNotFinished,  ///< it has not
  kLength,       ///< max_tokens were generated
  kStop,         ///< one of the model's end tokens was generated; it is the last token
};

/// "unfinished", "length" or "stop".
std::string to_string(FinishReason reason);

/// One request and what has been generated for it.
struct Generation {
  std::vector<std::int32_t> prompt_ids;  ///< as given
  std::int64_t max_tokens = 0;           ///< as given
  std::vector<std::int32_t> token_ids;   ///< generated ones only
  /// The smallest distance between the best and the second-best logit so far; ∞ before the first.
  double min_top2_gap = std::numeric_limits<double>::infinity();
  FinishReason finish_reason = FinishReason::kNotFinished;  ///< why it ended
};

/// Refuses a request that no pool could help.
/// \param config      the model's
/// \param req_idx     for the message
/// \param prompt_ids  one token or more
/// \param max_tokens  to generate, one or more
/// \throws Error      if a token is outside the vocabulary, or the model lacks the positions
void check_request(const LlamaConfig& config,
                   std::int64_t req_idx,
                   const std::vector<std::int32_t>& prompt_ids,
                   std::int64_t max_tokens);

/// Blocks that a request needs until its last token. That token is returned and never stored.
std::int64_t blocks_for_request(std::int64_t prompt_len,
                                std::int64_t max_tokens,
                                std::int64_t block_size);

/// The smallest pool in which all of these requests run to their ends at once, null block included.
/// \throws Error  for a request that check_request refuses, or a block_size out of range
std::int64_t num_blocks_for_all(const LlamaConfig& config,
                                const std::vector<std::vector<std::int32_t>>& prompts,
                                std::int64_t max_tokens,
                                std::int64_t block_size);

}  // namespace pagelab
