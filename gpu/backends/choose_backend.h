/// \file
/// Selection in use: which of pagelab's backends a run gets. A name is taken by what pagelab's own
/// implementation can do, unless the run asks for the real one's rules; without a name, vLLM's selection
/// chooses among those that pagelab implements where it runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/backends/catalog.h"
#include "reference/registry/selection_question.h"

namespace pagelab {

/// Asks for vLLM's choice, where a backend is named. Letter case does not count.
inline constexpr const char* kAutomaticBackend = "auto";

/// What a run asks for.
struct BackendRequest {
  std::string backend = kAutomaticBackend;  ///< a name of all_backends(), or kAutomaticBackend
  std::string target;                       ///< "cpu", "simulator" or "cuda"; empty: open
  std::optional<DeviceCapability> gpu;      ///< whose rules count, instead of the target's own
  bool as_vllm = false;                     ///< the real one's rules count for a name, too
};

/// What it gets.
struct ChosenBackend {
  std::unique_ptr<AttentionBackend> backend;  ///< ready to run
  std::vector<std::string> log;  ///< vLLM's lines: "INFO Using ..."; empty: nothing was to choose
  /// Tokens of a block where the user has left that open: what the backend prefers, by the rules that count.
  std::int64_t open_block_size = 16;
};

/// The GPU whose rules count on a target: on cuda the real one's, elsewhere Hopper's (9.0).
/// \param target  "cpu", "simulator" or "cuda"
/// \throws Error  if it is cuda and there is no GPU
DeviceCapability capability_of_target(const std::string& target);

/// Makes the backend that a run gets. An open target is that of the name, or without one: the GPU if there
/// is one; else the simulator if the run asks for a GPU's rules; else the CPU, where vLLM takes CPU_ATTN.
/// \param request   by name, or automatic
/// \param question  the layer's record; its capability is filled in here
/// \throws Error    if there is no such backend or target, with the reasons of vLLM's rules where those
///                  count, or if `gpu` has no effect on the choice
ChosenBackend choose_backend(const BackendRequest& request, SelectionQuestion question);

/// Why the real backend of a name does not take a layer, in vLLM's words; empty if it does.
/// \param name      of a backend
/// \param question  the layer's record, with the GPU's capability
/// \throws Error    if vLLM has no backend of that name
std::string refusal_as_vllm(const std::string& name, const SelectionQuestion& question);

/// Whether vLLM has a backend of this name, or one was registered.
bool is_known_to_vllm(const std::string& name);

}  // namespace pagelab
