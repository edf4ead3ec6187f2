/// \file
/// A served trace in some thirty numbers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "simulator/engine/serve/serve_trace.h"

namespace pagelab {

/// Values in order of size: the middle one, and those that nine and 99 of a hundred do not exceed.
struct Spread {
  double median = 0;  ///< half of them are at most this
  double p90 = 0;     ///< nine of ten are
  double p99 = 0;     ///< 99 of a hundred are
  double max = 0;     ///< all are
};

/// The spread of some values: the smallest ones that the shares do not exceed. All 0 for none.
Spread spread_of(std::vector<double> values);

/// Steps of one graph mode.
struct GraphModeCount {
  std::int64_t num_steps = 0;          ///< that ran so
  std::int64_t num_tokens = 0;         ///< scheduled in them
  std::int64_t num_padded_tokens = 0;  ///< computed in them
};

/// Steps whose requests share a prefix, and what their decodes read of keys and values.
struct CascadeCount {
  std::int64_t num_steps = 0;      ///< such steps
  std::int64_t flat_bytes = 0;     ///< read if each request reads the prefix
  std::int64_t cascade_bytes = 0;  ///< read if it is read once
};

/// The numbers.
struct ServingReport {
  std::int64_t num_requests = 0;       ///< served
  std::int64_t num_steps = 0;          ///< that computed anything
  std::int64_t num_prompt_tokens = 0;  ///< of all requests
  std::int64_t num_output_tokens = 0;  ///< of all requests
  std::int64_t num_hit_tokens = 0;  ///< prompt tokens found in the prefix cache, at first admission
  std::int64_t num_preemptions = 0;         ///< in all
  std::int64_t num_preempted_requests = 0;  ///< requests that lost their blocks at least once
  std::int32_t most_used_blocks = 0;        ///< at any step

  std::int64_t num_decode_steps = 0;          ///< steps in which each request has one token
  std::int64_t num_mixed_steps = 0;           ///< steps with both
  std::int64_t num_extend_steps = 0;          ///< steps in which each request has more
  Spread reqs_per_step;                       ///< requests
  Spread tokens_per_step;                     ///< scheduled tokens
  Spread waiting_per_step;                    ///< requests left in the queue
  std::array<GraphModeCount, 3> graph_modes;  ///< [NONE, PIECEWISE, FULL]

  CascadeCount with_cascade;  ///< steps whose common prefix is read once
  CascadeCount declined;  ///< steps of several requests that have one, but for which it did not pay

  double duration_us = 0;  ///< until the last token
  double gpu_busy_us = 0;  ///< computing or being launched
  double gpu_gap_us = 0;   ///< idle between two steps although nothing was missing but the CPU
  Spread ttft_us;          ///< time to first token
  Spread tpot_us;          ///< time per output token after the first one
};

/// Adds a served trace up.
/// \param served  the trace
/// \param model   whose keys and values are counted in bytes
ServingReport report_of(const ServedTrace& served, const ServedModel& model);

}  // namespace pagelab
