// cp.async: the destination holds the copy after the wait, on every device, and not before it.

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "gpu/runtime/device_array.h"
#include "reference/contract/error.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/kernels/cp_async_reverse.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

using CpAsyncReverse = void (*)(const CpAsyncReverseParams&, unsigned int);

CpAsyncReverse kernel_for(const Device& device) {
  switch (device.kind()) {
#if defined(PAGELAB_HAS_CUDA)
    case DeviceKind::kCuda:
      return on_cuda::cp_async_reverse;
#endif
#if defined(PAGELAB_HAS_CHECKED_KERNELS)
    case DeviceKind::kCheckedSimulator:
      return on_checked_simulator::cp_async_reverse;
#endif
    default:
      return on_simulator::cp_async_reverse;
  }
}

// What the kernel leaves in y.
std::vector<std::uint32_t> run(const std::shared_ptr<Device>& device,
                               const std::vector<std::uint32_t>& x,
                               int bytes_per_copy,
                               unsigned int threads,
                               bool waits = true) {
  const std::size_t words_per_tile = threads * static_cast<std::size_t>(bytes_per_copy / 4);
  const std::size_t num_tiles = (x.size() + words_per_tile - 1) / words_per_tile;
  std::vector<std::uint32_t> y(num_tiles * words_per_tile);
  std::vector<std::uint32_t> x_in_memory = x;
  if (device->kind() == DeviceKind::kCuda) {
    // compute-sanitizer's memcheck takes a copy of fewer source bytes for one of all of them, which
    // here would end past the array. The simulators know better: there the array ends where x does.
    const std::size_t words_per_copy = static_cast<std::size_t>(bytes_per_copy) / 4;
    const std::size_t num_copies = (x.size() + words_per_copy - 1) / words_per_copy;
    x_in_memory.resize(num_copies * words_per_copy, 0xffffffffu);
  }
  const DeviceArray x_array = DeviceArray::copy_of(device, x_in_memory, "x");
  const DeviceArray y_array(device, y.size() * sizeof(std::uint32_t), "y");
  CpAsyncReverseParams params;
  params.x = x_array.as<std::uint32_t>();
  params.y = y_array.as<std::uint32_t>();
  params.num_words = static_cast<int>(x.size());
  params.bytes_per_copy = bytes_per_copy;
  params.waits = waits;
  kernel_for (*device)(params, threads);
  y_array.copy_to(y.data());
  return y;
}

// The same by hand: pad with zeros, reverse tile by tile.
std::vector<std::uint32_t> reversed(std::vector<std::uint32_t> x, std::size_t words_per_tile) {
  x.resize((x.size() + words_per_tile - 1) / words_per_tile * words_per_tile, 0);
  for (std::size_t first = 0; first < x.size(); first += words_per_tile) {
    std::reverse(x.begin() + static_cast<std::ptrdiff_t>(first),
                 x.begin() + static_cast<std::ptrdiff_t>(first + words_per_tile));
  }
  return x;
}

void check_all_shapes(const std::shared_ptr<Device>& device) {
  for (const int bytes_per_copy : {4, 8, 16}) {
    for (const unsigned int threads : {1u, 31u, 32u, 33u, 128u}) {
      for (const std::size_t num_words : {1u, 5u, 128u, 700u}) {
        CAPTURE(device->name());
        CAPTURE(bytes_per_copy);
        CAPTURE(threads);
        CAPTURE(num_words);
        std::vector<std::uint32_t> x(num_words);
        std::iota(x.begin(), x.end(), 7u);
        const std::size_t words_per_tile = threads * static_cast<std::size_t>(bytes_per_copy / 4);
        CHECK(run(device, x, bytes_per_copy, threads) == reversed(x, words_per_tile));
      }
    }
  }
}

}  // namespace

TEST_SUITE("cp_async") {
  TEST_CASE("a copy has arrived after the wait in the simulator") {
    for (const std::shared_ptr<Device>& device : simulators()) check_all_shapes(device);
  }

  TEST_CASE("a copy has arrived after the wait on the GPU") {
    const std::shared_ptr<Device> gpu = gpu_or_skip();
    if (gpu == nullptr) return;
    check_all_shapes(gpu);
  }

  TEST_CASE("without the wait the simulator shows what was in shared memory before") {
    const std::vector<std::uint32_t> x(32, 7u);
    const std::vector<std::uint32_t> poison(32, 0xffffffffu);
    CHECK(run(simulator_device(), x, 4, 32, false) == poison);
  }
#if defined(PAGELAB_HAS_CHECKED_KERNELS)
  TEST_CASE("without the wait the checked simulator refuses the read") {
    const std::vector<std::uint32_t> x(32, 7u);
    CHECK_THROWS_AS(run(checked_simulator_device(), x, 4, 32, false), Error);
  }
#endif
}
