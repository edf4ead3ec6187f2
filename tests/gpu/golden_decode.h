/// \file
/// What a GPU computed with the rungs of paged_decode from the third on, line by line:
/// tests/golden/h200/paged_decode.txt. The program h200_golden writes the lines on a GPU; a test has the
/// simulators reproduce them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/runtime/device.h"

namespace pagelab::test {

/// Random steps of which the lines are made.
inline constexpr std::uint64_t kNumDecodeGoldens = 40;

/// "rung seed inputs output lse values…": hashes of inputs, output and LSE, and the first four outputs as
/// bits. Every pair of dtypes that rungs 6 and 7 take, every variant at some seed; a fifth of the contexts are
/// longer than a partition.
/// \param device  where the kernels run
std::vector<std::string> decode_golden_lines(const std::shared_ptr<Device>& device);

}  // namespace pagelab::test
