/// \file
/// The scheduler's settings, under vLLM's names.
#pragma once

#include <cstdint>
#include <optional>

#include "simulator/engine/cache/kv_cache_config.h"

namespace pagelab {

/// Who goes first.
enum class SchedulingPolicy {
  kFcfs,     ///< first come, first served
  kPriority  ///< smaller priority first, then earlier arrival
};

/// Settings of a scheduler.
/// \source vLLM config/scheduler.py, SchedulerConfig
struct SchedulerConfig {
  std::int32_t max_num_seqs = 256;                       ///< requests that may run at once
  std::int32_t max_num_batched_tokens = 8192;            ///< tokens of a step
  std::optional<std::int32_t> max_num_scheduled_tokens;  ///< a smaller budget; else the one above
  std::optional<std::int32_t> max_num_active_seqs;  ///< admit only up to so many; else max_num_seqs
  bool enable_chunked_prefill = true;               ///< a prompt may be computed in several steps
  SchedulingPolicy policy = SchedulingPolicy::kFcfs;  ///< who goes first
  bool scheduler_reserve_full_isl = true;             ///< admit only what fits with all its tokens
  std::int32_t long_prefill_token_threshold =
      0;  ///< most tokens of one request a step; 0: no limit
  bool long_prefill_token_threshold_adaptive = false;  ///< but at least a fair share of the step
  std::int32_t num_speculative_tokens = 0;             ///< drafts that a request may have in a step
  std::int32_t num_lookahead_tokens = 0;  ///< slots that the drafting model itself writes to
  bool async_scheduling = false;          ///< schedule a step before the last one's output is there
};

/// \param config  the scheduler's settings
/// \param cache   its cache
/// \throws Error  naming the field that is out of range
void validate(const SchedulerConfig& config, const KVCacheConfig& cache);

/// Steps that are on their way at once: while one is computed, the asynchronous loop prepares another.
inline std::int32_t max_concurrent_batches(const SchedulerConfig& config) {
  return config.async_scheduling ? 2 : 1;
}

}  // namespace pagelab
