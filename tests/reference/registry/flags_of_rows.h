// The facts of a catalogue row that are yes or no, by vLLM's names.
#pragma once

#include <array>

#include "reference/registry/backend_facts.h"

namespace pagelab::test {

struct NamedFlag {
  const char* name;
  Fact<bool> BackendFacts::*member;
};

inline constexpr std::array<NamedFlag, 16> kFlagsOfRows = {
    {{"is_mla", &BackendFacts::is_mla},
     {"is_sparse", &BackendFacts::is_sparse},
     {"is_ssm", &BackendFacts::is_ssm},  // selection never asks for it
     {"supports_sink", &BackendFacts::supports_sink},
     {"supports_alibi_sqrt", &BackendFacts::supports_alibi_sqrt},  // nor for this one
     {"supports_mm_prefix", &BackendFacts::supports_mm_prefix},
     {"supports_per_head_quant_scales", &BackendFacts::supports_per_head_quant_scales},
     {"supports_sliding_window", &BackendFacts::supports_sliding_window},
     {"supports_rswa", &BackendFacts::supports_rswa},
     {"supports_non_causal", &BackendFacts::supports_non_causal},
     {"supports_batch_invariance", &BackendFacts::supports_batch_invariance},
     {"supports_kv_connector", &BackendFacts::supports_kv_connector},
     {"supports_pcp", &BackendFacts::supports_pcp},
     {"supports_dcp", &BackendFacts::supports_dcp},
     {"supports_non_causal_dcp", &BackendFacts::supports_non_causal_dcp},
     {"supports_device_cpu_query_lens_mismatch",
      &BackendFacts::supports_device_cpu_query_lens_mismatch}}};

}  // namespace pagelab::test
