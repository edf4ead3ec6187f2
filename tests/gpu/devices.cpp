#include "tests/gpu/devices.h"

#include <doctest/doctest.h>

#include <cstring>

#include "reference/contract/compare.h"
#include "tests/support/environment.h"

namespace pagelab::test {

std::vector<std::shared_ptr<Device>> simulators() {
#if defined(PAGELAB_HAS_CHECKED_KERNELS)
  return {simulator_device(), checked_simulator_device()};
#else
  return {simulator_device()};
#endif
}

std::shared_ptr<Device> gpu_or_skip() {
  std::string why_not;
  if (!cuda_is_available(&why_not)) {
    skip_for_want_of_a_gpu(why_not);
    return nullptr;
  }
  return cuda_device();
}

void check_identical(const char* what, const Tensor& got, const Tensor& expected) {
  if (identical(got, expected)) return;
  const Comparison comparison = compare_bits(got, expected);
  FAIL_CHECK(what << ": " << to_string(comparison));
}

}  // namespace pagelab::test
