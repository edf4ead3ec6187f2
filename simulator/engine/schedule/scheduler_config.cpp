#include "simulator/engine/schedule/scheduler_config.h"

#include "reference/contract/refuse.h"
#include "simulator/engine/in_range.h"

namespace pagelab {
namespace {

void refuse_more(const char* field, std::int32_t value, const char* bound, std::int32_t most) {
  if (value > most)
    refuse("{} is {}, but {} is {}; it may not be more.", field, value, bound, most);
}

}  // namespace

void validate(const SchedulerConfig& config, const KVCacheConfig& cache) {
  require_in_range("max_num_seqs", config.max_num_seqs, 1);
  // Two steps of so many tokens may be on their way.
  require_in_range("max_num_batched_tokens", config.max_num_batched_tokens, 1, kMostTokens / 2);
  if (config.max_num_scheduled_tokens) {
    require_in_range("max_num_scheduled_tokens", *config.max_num_scheduled_tokens, 1, kMostTokens);
    refuse_more("max_num_scheduled_tokens", *config.max_num_scheduled_tokens,
                "max_num_batched_tokens", config.max_num_batched_tokens);
  }
  if (config.max_num_active_seqs) {
    require_in_range("max_num_active_seqs", *config.max_num_active_seqs, 1);
    refuse_more("max_num_active_seqs", *config.max_num_active_seqs, "max_num_seqs",
                config.max_num_seqs);
  }
  require_in_range("long_prefill_token_threshold", config.long_prefill_token_threshold, 0,
                   kMostTokens);
  require_in_range("num_speculative_tokens", config.num_speculative_tokens, 0);
  require_in_range("num_lookahead_tokens", config.num_lookahead_tokens, 0);
  if (config.num_speculative_tokens > 0 &&
      config.num_speculative_tokens >= config.max_num_batched_tokens) {
    refuse(
        "num_speculative_tokens is {}, and a step with them does not fit the {} tokens of "
        "max_num_batched_tokens.",
        config.num_speculative_tokens, config.max_num_batched_tokens);
  }
  if (!config.enable_chunked_prefill && config.max_num_batched_tokens < cache.max_model_len) {
    refuse(
        "max_num_batched_tokens is {}, and without enable_chunked_prefill a prompt of up to "
        "max_model_len {} tokens would never fit a step.",
        config.max_num_batched_tokens, cache.max_model_len);
  }
}

}  // namespace pagelab
