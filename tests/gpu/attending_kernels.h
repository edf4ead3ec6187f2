/// \file
/// Every kernel that attends over a whole batch by itself, each behind the interface of a backend.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/runtime/device.h"
#include "reference/registry/backend.h"

namespace pagelab::test {

/// A kernel, and the backend that launches nothing else but the cache write.
struct AttendingKernel {
  std::string name;                           ///< "paged_decode/1_naive"
  std::unique_ptr<AttentionBackend> backend;  ///< on one device
};

/// The rungs of paged_decode, paged_prefill and unified, and flex. (cascade/1_prefix attends over a part of a step.)
/// \param device  where they run
std::vector<AttendingKernel> attending_kernels(const std::shared_ptr<Device>& device);

/// Whether a kernel takes a step. What it does not take it refuses with a sentence that begins with its name.
/// \param kernel  of attending_kernels
/// \param step    valid
/// \param result  set to what it computed, if it does
bool attends(const AttendingKernel& kernel, const AttentionStep& step, AttentionResult& result);

}  // namespace pagelab::test
