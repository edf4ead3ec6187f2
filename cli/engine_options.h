/// \file
/// The options that say how the engine writes texts, and what came of them.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/targets.h"
#include "reference/model/llama_config.h"
#include "simulator/engine/cudagraph/mode_resolution.h"
#include "simulator/engine/generation/engine_core.h"

namespace pagelab::cli {

/// As the user gave them.
struct EngineFlags {
  std::optional<std::int64_t> block_size;              ///< tokens; else what the backend prefers
  std::optional<std::int64_t> num_blocks;              ///< the pool; else enough for all prompts
  std::optional<std::int64_t> max_num_batched_tokens;  ///< tokens of a step
  std::int64_t max_num_seqs = 256;                     ///< requests that run at once
  bool enable_prefix_caching = true;                   ///< share blocks
  bool enable_chunked_prefill = true;                  ///< cut prompts
  bool cascade = false;                                ///< the first model runner, with cascade
  std::optional<std::int64_t> num_sms;                 ///< multiprocessors, for cascade's rule
  std::string cudagraph_mode = "NONE";                 ///< asked for
  std::optional<std::int64_t> block_order_seed;        ///< shuffles the pool
};

/// The engine that they describe.
struct DescribedEngine {
  EngineOptions options;         ///< for EngineCore
  std::vector<std::string> log;  ///< "WARNING ...", where the graph mode was lowered
};

/// Adds those that say how requests share steps and blocks to a subcommand.
void add_batching_options(CLI::App& command, EngineFlags& flags);

/// Adds all of them: cascade and graphs, too.
void add_engine_options(CLI::App& command, EngineFlags& flags);

/// \param flags           as given
/// \param config          of the model
/// \param chosen          the backend that will run
/// \param gpu             whose rules count for graphs; empty: the target's own
/// \param prompts         token ids, one list a request
/// \param max_tokens      to generate for each
/// \throws Error          naming the option, its value and what is allowed
DescribedEngine engine_from(const EngineFlags& flags,
                            const LlamaConfig& config,
                            const ChosenBackend& chosen,
                            const std::string& gpu,
                            const std::vector<std::vector<std::int32_t>>& prompts,
                            std::int64_t max_tokens);

/// What a graph mode becomes, for `generate` and for `simulate`.
/// \param mode     as the user wrote it
/// \param request  all the rest
/// \throws Error   if there is no such mode, or it cannot be had
ResolvedCudagraphMode resolved_graphs(const std::string& mode, CudagraphModeRequest request);

/// Why no step was a cascade: what the rule says of the one that would have saved most. What its requests share is taken from their
/// texts; in blocks they may share less.
/// \param steps        all, one or more
/// \param generations  what they wrote
/// \param options      with cascade
/// \param config       of the model
std::string why_no_cascade(const std::vector<StepRecord>& steps,
                           const std::vector<Generation>& generations,
                           const EngineOptions& options,
                           const LlamaConfig& config);

/// What was in use, a line each: tokens found, preemptions, graphs, cascade.
std::string to_string(const StepTotals& totals, const EngineOptions& options);

/// What of the graphs was recorded and replayed; or that nothing was, and why. Empty without graphs.
/// \param totals    of the run
/// \param options   of the run
/// \param recorded  at its start; none: the backend has nothing to record
/// \param backend   that ran
std::string replays_of(const StepTotals& totals,
                       const EngineOptions& options,
                       const std::optional<RecordedGraphs>& recorded,
                       const AttentionBackend& backend);

}  // namespace pagelab::cli
