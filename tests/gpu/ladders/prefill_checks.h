/// \file
/// What every rung of paged_prefill must hold, for the tests of the single rungs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/runtime/device.h"
#include "reference/contract/error.h"
#include "reference/numerics/error_bound.h"
#include "reference/registry/backend.h"
#include "tests/cases/attention_cases.h"
#include "tests/cases/attention_traps.h"
#include "tests/gpu/attention_checks.h"
#include "tests/gpu/backend_checks.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/ladders/ladders.h"

namespace pagelab::test {

/// Steps around the tiles of this ladder: one key and one query fewer, as many, one more; long contexts;
/// windows and ranges that leave tiles out. They complete attention_cases().
std::vector<AttentionCase> prefill_cases();

/// A rung of paged_prefill behind the interface of a backend.
std::unique_ptr<AttentionBackend> prefill_backend(int rung, const std::shared_ptr<Device>& device);

/// A step on a rung of paged_prefill.
AttentionResult prefill_by(int rung,
                           const AttentionStep& step,
                           const std::shared_ptr<Device>& device);

}  // namespace pagelab::test
