/// \file
/// LoRA cases: for which numbers of active adapters graphs are recorded. The kernels of a batch with adapters differ
/// from those of one without, and their launch depends on how many adapters take part.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace pagelab {

/// How adapters are served, if they are.
/// \source vLLM config/lora.py and v1/cudagraph_dispatcher.py, _get_lora_cases
struct LoraCaptureSettings {
  std::int64_t max_loras = 1;              ///< adapters that one batch may use
  bool cudagraph_specialize_lora = false;  ///< batches without adapters get a case of their own,
  bool specialize_active_lora = false;     ///< and so do powers of two
};

/// The numbers of active adapters that graphs are recorded for, ascending. One more than max_loras stands for "any".
/// \param lora     none: the model serves no adapters, and the only case is 0
/// \throws Error   if max_loras is below 1
std::vector<std::int64_t> lora_cases(const std::optional<LoraCaptureSettings>& lora);

/// The smallest case that serves this many adapters; 0 stays 0.
/// \returns  the number itself if it is past the largest case
std::int64_t captured_lora_case(const std::vector<std::int64_t>& cases,
                                std::int64_t num_active_loras);

}  // namespace pagelab
