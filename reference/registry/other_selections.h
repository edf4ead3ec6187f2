/// \file
/// Choices that take no record: state-space layers name their member, vision towers try a short list.
#pragma once

#include <optional>
#include <string>

#include "reference/registry/registration.h"
#include "reference/registry/selection_question.h"

namespace pagelab {

/// The row of a state-space member.
/// \param name             a member of MambaAttentionBackendEnum
/// \param batch_invariant  whether the run asks for the same bits in every batch
/// \param registry         BackendRegistry::of_mamba(), and what was registered
/// \throws RaisedError     a RuntimeError if that is asked for and not supported; a ValueError if the
///                         member is unknown or has no class
/// \source vLLM v1/attention/selector.py, get_mamba_attn_backend
const BackendFacts& mamba_attention_backend(const std::string& name,
                                            bool batch_invariant,
                                            const BackendRegistry& registry);

/// The member for a vision tower under CUDA: the one asked for, or the first of the list that takes
/// the head size, the dtype and the GPU. TORCH_SDPA has no class, and takes everything.
/// \param question      head size, dtype, GPU and what is installed count
/// \param asked_for     the member that the user asks for, if any
/// \param registry      BackendRegistry::of_attention(), and what was registered
/// \throws RaisedError  an AssertionError if the one asked for is not in the list
/// \source vLLM platforms/cuda.py, get_vit_attn_backend
std::string vit_attention_backend(const SelectionQuestion& question,
                                  const std::optional<std::string>& asked_for,
                                  const BackendRegistry& registry);

/// The line that vLLM logs for a vision tower.
std::string vit_log_line(const std::string& selected);

}  // namespace pagelab
