/// \file
/// In which order a platform tries its backends.
#pragma once

#include <string_view>
#include <vector>

#include "reference/registry/selection_question.h"

namespace pagelab {

/// The candidates for a layer under CUDA, the preferred one first. Dense and sparse latent layers
/// share a list: use_sparse does not count.
/// \source vLLM platforms/cuda.py, _get_backend_priorities
const std::vector<std::string_view>& backend_priorities(const SelectionQuestion& question);

/// The candidates for a vision tower under CUDA.
/// \source vLLM platforms/cuda.py, get_supported_vit_attn_backends
const std::vector<std::string_view>& vit_backend_priorities(DeviceCapability capability);

}  // namespace pagelab
