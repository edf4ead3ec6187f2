/// \file
/// What a GPU computed with the kernels of a model's layers, line by line: tests/golden/h200/model.txt. The program
/// h200_golden writes the lines on a GPU; a test has the simulators reproduce them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/runtime/device.h"

namespace pagelab::test {

/// "kernel seed sizes inputs outputs values…" for each kernel and several sizes: hashes of inputs and outputs, and the
/// first four outputs as bits.
/// \param device  where the kernels run
std::vector<std::string> model_kernel_lines(const std::shared_ptr<Device>& device);

}  // namespace pagelab::test
