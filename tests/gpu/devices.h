/// \file
/// The devices that a test of kernels runs on. Every such test has two cases: one for the two
/// simulators, which are always there, and one for the GPU, which is skipped by name without one.
#pragma once

#include <memory>
#include <vector>

#include "gpu/runtime/device.h"
#include "reference/tensor/tensor.h"

namespace pagelab::test {

/// The fast simulator, and the checked one where it was built.
std::vector<std::shared_ptr<Device>> simulators();

/// The GPU, or nullptr after saying that the test is skipped (or failing, if one is required).
std::shared_ptr<Device> gpu_or_skip();

/// Fails the running test, naming the first difference, unless two arrays have the same bits.
/// \param what      for the message
/// \param got       what was computed
/// \param expected  what it must be
void check_identical(const char* what, const Tensor& got, const Tensor& expected);

}  // namespace pagelab::test
