/// \file
/// The options of `pagelab simulate`, and the engine that they describe.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "simulator/engine/cudagraph/mode_resolution.h"
#include "simulator/engine/serve/serve_trace.h"
#include "simulator/engine/sizing/kv_cache_capacity.h"

namespace pagelab::cli {

/// As the user wrote them.
struct SimulateOptions {
  std::string trace;                                  ///< the file
  std::int64_t copies = 1;                            ///< how often it is served, one after another
  std::optional<std::int64_t> num_blocks;             ///< the pool, or
  std::optional<double> kv_memory_gib;                ///< the memory that it gets
  std::optional<std::int64_t> block_size;             ///< tokens; else the backend's
  std::int64_t max_num_batched_tokens = 8192;         ///< tokens of a step
  std::int64_t max_num_seqs = 256;                    ///< requests that may run at once
  std::int64_t max_model_len = 131072;                ///< tokens of a request
  bool enable_prefix_caching = true;                  ///< blocks of equal beginnings are shared
  bool enable_chunked_prefill = true;                 ///< a prompt may take several steps
  bool no_async_scheduling = false;                   ///< one step after another
  std::string gpu = "h200";                           ///< whose rules count
  std::string backend = "auto";                       ///< of attention
  std::string cudagraph_mode = "FULL_AND_PIECEWISE";  ///< asked for
  bool cascade = false;                               ///< the first model runner, with cascade
  std::optional<std::int64_t> num_sms;                ///< multiprocessors, for cascade's rule
  std::vector<std::string> costs;                     ///< NAME=VALUE
  std::optional<double> step_ms;                      ///< each step takes so long
  std::string perfetto;                               ///< file for a Chrome trace
  std::string html;                                   ///< file for the page
  std::optional<std::int64_t> html_from;              ///< its first step
  std::optional<std::int64_t> html_steps;             ///< how many it has
  bool show_costs = false;                            ///< print the table, too
};

/// What they describe.
struct SimulatedEngine {
  ServingSettings settings;      ///< for serve_trace
  std::string backend;           ///< chosen or asked for
  KVCacheCapacity capacity;      ///< the pool's size, and how it was computed
  ResolvedCudagraphMode graphs;  ///< what the mode became
};

/// Tells the parser about the options.
void add_simulate_options(CLI::App& command, SimulateOptions& options);

/// The engine.
/// \throws Error  naming the option, its value and what is allowed
SimulatedEngine engine_of(const SimulateOptions& options);

}  // namespace pagelab::cli
