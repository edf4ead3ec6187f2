/// \file
/// The choice where there is no CUDA. On a CPU it is a short rule that asks nobody.
#pragma once

#include <optional>
#include <string>

#include "reference/registry/selection.h"

namespace pagelab {

/// The backend for a layer on a CPU. vLLM asks no backend here whether it takes the layer: what it cannot
/// do shows when it runs.
/// \param question       the kind of the layer counts, its sizes and types do not
/// \param asked_for      the member that the user asks for, if any; another one is taken all the same, with a
///                       line in the log that says so (`warning`)
/// \param has_amx_tiles  whether the processor is an x86 with matrix units
/// \param registry       the members
/// \returns              the choice; a sparse layer is refused
/// \throws RaisedError   if `asked_for` is not a member
/// \source vLLM platforms/cpu.py, get_attn_backend_cls (read, not run)
Selection select_attention_backend_on_cpu(const SelectionQuestion& question,
                                          const std::optional<std::string>& asked_for,
                                          bool has_amx_tiles,
                                          const BackendRegistry& registry);

}  // namespace pagelab
