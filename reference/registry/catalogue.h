/// \file
/// vLLM 0.32.0's attention backends, all of them, as rows in the order of its two enums.
#pragma once

#include <vector>

#include "reference/registry/backend_facts.h"

namespace pagelab {

/// AttentionBackendEnum: what ordinary and latent layers choose from.
/// \source vLLM v1/attention/backends/registry.py
const std::vector<const BackendFacts*>& attention_backends();

/// MambaAttentionBackendEnum: state-space layers name their member themselves.
const std::vector<const BackendFacts*>& mamba_attention_backends();

}  // namespace pagelab
