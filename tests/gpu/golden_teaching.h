/// \file
/// What a GPU computed with the teaching kernels, line by line: tests/golden/h200/teaching_kernels.txt.
/// The program h200_golden writes the lines on a GPU; a test has the simulators reproduce them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/runtime/device.h"

namespace pagelab::test {

/// "rung seed size configuration inputs outputs values…" for each rung, several sizes and
/// configurations: hashes of inputs and outputs, and the first four outputs as bits.
/// \param device  where the kernels run
std::vector<std::string> teaching_kernel_lines(const std::shared_ptr<Device>& device);

}  // namespace pagelab::test
