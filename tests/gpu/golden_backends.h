/// \file
/// What a GPU computed with the backends that sum in an order of their own, line by line:
/// tests/golden/h200/backends.txt. The program h200_golden writes the lines on a GPU; a test has the simulator
/// reproduce them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/runtime/device.h"

namespace pagelab::test {

/// Random steps of which the lines are made.
inline constexpr std::uint64_t kNumBackendGoldens = 24;

/// "backend seed inputs output lse values...": hashes of inputs, output and LSE, and the first four outputs as
/// bits. Every dtype of query and cache and every variant at some seed; batches of decodes, and mixed ones. A
/// backend that chooses by the batch is there with each of its choices.
/// \param device  where the kernels run
std::vector<std::string> backend_golden_lines(const std::shared_ptr<Device>& device);

}  // namespace pagelab::test
