#include "simulator/engine/generation/generation.h"

#include "reference/cache/block_table.h"
#include "reference/contract/refuse.h"
#include "simulator/engine/in_range.h"

namespace pagelab {

std::string to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::kLength:
      return "length";
    case FinishReason::kStop:
      return "stop";
    default:
      return "unfinished";
  }
}

void check_request(const LlamaConfig& config,
                   std::int64_t req_idx,
                   const std::vector<std::int32_t>& prompt_ids,
                   std::int64_t max_tokens) {
  const std::int64_t prompt_len = static_cast<std::int64_t>(prompt_ids.size());
  if (prompt_len == 0) {
    refuse("the prompt of request {} is empty; it must have a token.", req_idx);
  }
  for (std::int64_t position = 0; position < prompt_len; ++position) {
    const std::int32_t token_id = prompt_ids[position];
    if (token_id < 0 || token_id >= config.vocab_size) {
      refuse(
          "token {} at position {} of request {}'s prompt is outside the vocabulary of {} tokens.",
          token_id, position, req_idx, config.vocab_size);
    }
  }
  if (max_tokens < 1) refuse("max_tokens is {}; it must be 1 or more.", max_tokens);
  if (max_tokens > config.max_position_embeddings - prompt_len) {
    refuse("request {} has {} prompt tokens and asks for {} more, but the model has {} positions.",
           req_idx, prompt_len, max_tokens, config.max_position_embeddings);
  }
}

std::int64_t blocks_for_request(std::int64_t prompt_len,
                                std::int64_t max_tokens,
                                std::int64_t block_size) {
  return blocks_for_tokens(prompt_len + max_tokens - 1, block_size);
}

std::int64_t num_blocks_for_all(const LlamaConfig& config,
                                const std::vector<std::vector<std::int32_t>>& prompts,
                                std::int64_t max_tokens,
                                std::int64_t block_size) {
  require_in_range("block_size", block_size, 1);
  std::int64_t num_blocks = 1;  // the null block
  for (std::size_t req_idx = 0; req_idx < prompts.size(); ++req_idx) {
    check_request(config, static_cast<std::int64_t>(req_idx), prompts[req_idx], max_tokens);
    const std::int64_t prompt_len = static_cast<std::int64_t>(prompts[req_idx].size());
    num_blocks += blocks_for_request(prompt_len, max_tokens, block_size);
  }
  return num_blocks;
}

}  // namespace pagelab
