// What a device says when it refuses something. Kept in a suite of its own: compute-sanitizer counts
// a refused CUDA call as an error, so it is run with -tse="device errors".

#include <doctest/doctest.h>

#include <string>

#include "gpu/runtime/device_array.h"
#include "reference/contract/error.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/kernels/nothing.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

constexpr std::size_t kTooManyBytes = std::size_t{1} << 50;

}  // namespace

TEST_SUITE("device errors") {
  TEST_CASE("a refused launch names the kernel (simulators)") {
    CHECK_NOTHROW(on_simulator::launch_nothing(1024));
    CHECK_THROWS_WITH_AS(on_simulator::launch_nothing(1025),
                         "kernel nothing: thread block.x is 1025, but it must be from 1 to 1024.",
                         Error);
  }
  TEST_CASE("a refused launch names the kernel and its grid (GPU)") {
    if (gpu_or_skip() == nullptr) return;
#if defined(PAGELAB_HAS_CUDA)
    CHECK_NOTHROW(on_cuda::launch_nothing(1024));
    std::string sentence;
    try {
      on_cuda::launch_nothing(1025);
    } catch (const Error& error) {
      sentence = error.what();
    }
    // What follows is the driver's own text, and differs between its versions.
    const std::string ours =
        "kernel nothing, grid (1, 1, 1), thread block (1025, 1, 1): the launch failed: ";
    CHECK_MESSAGE(sentence.substr(0, ours.size()) == ours, sentence);
    CHECK(sentence.size() > ours.size());
    CHECK_NOTHROW(on_cuda::launch_nothing(1));
#endif
  }

  TEST_CASE("an array that does not fit is refused by name (simulators)") {
    for (const auto& device : simulators()) {
      CHECK_THROWS_WITH_AS(
          DeviceArray(device, kTooManyBytes, "huge"),
          "the simulator's device memory has no room for array `huge` of "
          "1125899906842624 bytes (68719476736 bytes in all, guard gaps included).",
          Error);
      CHECK_NOTHROW(DeviceArray(device, 1000, "small"));
    }
  }
  TEST_CASE("an array that does not fit is refused by name and the device goes on (GPU)") {
    const auto device = gpu_or_skip();
    if (device == nullptr) return;
    std::string sentence;
    try {
      const DeviceArray huge(device, kTooManyBytes, "huge");
    } catch (const Error& error) {
      sentence = error.what();
    }
    CHECK(sentence.find("cudaMalloc of 1125899906842624 bytes for `huge` failed: out of memory") ==
          0);
    CHECK_NOTHROW(DeviceArray(device, 1000, "small"));
    CHECK_NOTHROW(device->synchronize());
  }

  TEST_CASE("an array is overwritten from its beginning and never beyond its end") {
    DeviceArray array =
        DeviceArray::copy_of(simulator_device(), std::vector<int>{1, 2, 3}, "three");
    array.overwrite(std::vector<int>{7, 8});
    array.overwrite(std::vector<int>{});
    std::vector<int> values(3);
    array.copy_to(values.data());
    CHECK(values == std::vector<int>{7, 8, 3});
    CHECK_THROWS_WITH_AS(array.overwrite(std::vector<int>{1, 2, 3, 4}),
                         "16 bytes do not fit a device array of 12 bytes.", Error);
  }

  TEST_CASE("an array keeps what was copied to it and an empty one has no address") {
    for (const auto& device : simulators()) {
      const std::vector<int> values = {3, 1, 4, 1, 5};
      const DeviceArray array = DeviceArray::copy_of(device, values, "values");
      std::vector<int> copy(5);
      array.copy_to(copy.data());
      CHECK(copy == values);
      const DeviceArray empty(device, 0, "empty");
      CHECK(empty.data() == nullptr);
      CHECK_NOTHROW(empty.copy_to(nullptr));
    }
  }
}
