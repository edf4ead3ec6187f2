/// \file
/// Hashes of the results of exact_math.h's functions and of ex2_approx, computed on a device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/runtime/device.h"
#include "tests/gpu/kernels/exact_math_hash.h"

namespace pagelab::test {

/// The hash over every stride-th float as a bit pattern, computed by num_threads threads.
std::uint64_t hash_of_results(const std::shared_ptr<Device>& device,
                              ExactFunctionId function,
                              std::uint64_t stride,
                              std::int64_t num_threads);

/// The line of tests/golden/h200/ex2.txt, as a device computes it: all 2^32 floats.
std::vector<std::string> ex2_golden_lines(const std::shared_ptr<Device>& device);

}  // namespace pagelab::test
