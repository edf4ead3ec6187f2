/// \file
/// What the tests of cascade attention run on devices.
#pragma once

#include <memory>
#include <vector>

#include "gpu/runtime/device.h"
#include "reference/registry/backend.h"
#include "tests/cases/cascade_cases.h"
#include "tests/gpu/backend_checks.h"

namespace pagelab::test {

/// A backend that has a cascade.
struct CascadingBackend {
  const char* name;  ///< for messages
  BackendOn on;      ///< makes it on a device
  bool
      is_invariant;  ///< whether it promises the same bits for a request in every batch with its prefix
};

/// FLASH_ATTN as it comes, FLASH_ATTN by vLLM's rule, FLASHINFER.
std::vector<CascadingBackend> cascading_backends();

/// Some of the cases in bfloat16 and in float32: all on a GPU, fewer in a simulator, fewest in the checked one.
/// \param device  where they will run
/// \param first   which of each few is the first, so that several tests together have more
std::vector<CascadeCase> cascade_cases_for(const Device& device, std::size_t first);

/// Checks that a cascade is within its bound of REFERENCE, all keys at once.
/// \returns  the largest share of the bound in use
double check_cascade(const CascadeCase& row, const AttentionBackend& backend);

/// Decodes alone, and decodes beside longer queries; in bfloat16 and in float32.
std::vector<CascadeCase> few_cascades();

}  // namespace pagelab::test
