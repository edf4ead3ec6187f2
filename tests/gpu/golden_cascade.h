/// \file
/// What a GPU computed of cascade attention, line by line: tests/golden/h200/cascade.txt. The program h200_golden
/// writes the lines on a GPU; a test has the simulator reproduce them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/runtime/device.h"

namespace pagelab::test {

/// "what seed inputs output lse values…", what being cascade/1_prefix, merge_states/1_naive, or a backend whose
/// cascade launches both: hashes of inputs, output and LSE, and the first four outputs as bits.
/// \param device  where the kernels run
std::vector<std::string> cascade_golden_lines(const std::shared_ptr<Device>& device);

}  // namespace pagelab::test
