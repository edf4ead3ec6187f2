/// \file
/// The options of `pagelab select`, and the questions that they put to the registry.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reference/registry/registration.h"
#include "reference/registry/selection_question.h"

namespace pagelab::cli {

/// As the user wrote them.
struct SelectOptions {
  std::string model;                       ///< a name of model_shapes(); empty: none
  std::string gpu;                         ///< a name, or a capability; empty on a CPU
  std::string platform = "cuda";           ///< or cpu
  bool has_amx_tiles = false;              ///< of the CPU
  std::string dtype = "bfloat16";          ///< of the activations
  std::string kv_cache_dtype = "auto";     ///< of the cache
  std::string attn_type = "decoder";       ///< whose keys
  std::string attention_backend;           ///< --attention-backend
  std::string attention_config_backend;    ///< --attention-config.backend
  std::vector<std::string> without;        ///< members that cannot be imported
  std::optional<std::int64_t> head_size;   ///< elements
  std::optional<std::int64_t> num_heads;   ///< query heads of a latent layer
  std::optional<std::int64_t> block_size;  ///< tokens
  AttentionSelectorConfig flags;           ///< only its flags are set
  bool explain = false;                    ///< every candidate and reason
  bool json = false;                       ///< for machines
};

/// Tells the parser about the options.
void add_select_options(CLI::App& command, SelectOptions& options);

/// The questions, one for every kind of layer of the model, or one in all.
/// \throws Error  naming the option, its value and what is allowed
std::vector<SelectionQuestion> questions_of(const SelectOptions& options,
                                            const BackendRegistry& registry);

/// The member that the user forces, if any.
/// \throws Error  if both options are given, or the name is unknown
std::optional<std::string> forced_backend_of(const SelectOptions& options,
                                             const BackendRegistry& registry);

}  // namespace pagelab::cli
