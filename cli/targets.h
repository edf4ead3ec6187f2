/// \file
/// The options that say which backend runs, on which target, and by whose rules.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gpu/backends/choose_backend.h"
#include "reference/model/llama_config.h"

namespace pagelab::cli {

/// --as-vllm and --gpu, as the user gave them.
struct RuleOptions {
  bool as_vllm = false;  ///< the real backend's rules count
  std::string gpu;       ///< whose rules; empty: the target's own
};

/// --backend and --target as well.
struct BackendOptions : RuleOptions {
  std::string backend;  ///< a name from the catalog, or auto; empty: left out
  std::string target;   ///< cpu, simulator or cuda; empty: the backend's first
};

/// Adds --as-vllm and --gpu to a subcommand.
void add_rule_options(CLI::App& command, RuleOptions& options);

/// Adds --backend and --target, too.
/// \param command        of which
/// \param options        are filled in
/// \param when_left_out  what the help says of a backend that is left out
void add_backend_options(CLI::App& command,
                         BackendOptions& options,
                         const std::string& when_left_out);

/// The backend that the options name or leave to vLLM's selection.
/// \param options        as given
/// \param when_left_out  the backend without --backend; with --as-vllm it is auto
/// \param question       the layer's record
/// \throws Error         if there is no such backend or target, the target is not present on this
///                       machine, or the rules that count decline
ChosenBackend choose_backend(const BackendOptions& options,
                             const std::string& when_left_out,
                             const SelectionQuestion& question);

/// What a layer of a Llama asks of the registry. Its cache holds float32, whatever its weights are stored in.
/// \param config      of the model
/// \param block_size  if the user gave one
SelectionQuestion question_of_model(const LlamaConfig& config,
                                    std::optional<std::int64_t> block_size);

/// For a command that runs every backend: the GPU whose rules count on a target, if vLLM's do.
/// \throws Error  if --gpu is given without --as-vllm
std::optional<DeviceCapability> capability_as_vllm(const RuleOptions& options,
                                                   const std::string& target);

/// Prints the lines that vLLM logs.
void print_log(const std::vector<std::string>& log);

/// Whether a target is present on this machine.
/// \param why_not  set to the reason where it is not; may be null
bool target_is_available(const std::string& target, std::string* why_not = nullptr);

}  // namespace pagelab::cli
