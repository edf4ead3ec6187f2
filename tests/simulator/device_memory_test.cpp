#include "simulator/simt/device_memory.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "simulator/simt/error.h"

using namespace pagelab;
using simt::ByteState;
using simt::DeviceMemory;

namespace {

ByteState state_of(const DeviceMemory& memory, const void* address) {
  return memory.states()[static_cast<const std::byte*>(address) - memory.base()];
}

}  // namespace

TEST_SUITE("simulator device memory") {
  TEST_CASE("a new array is poisoned with NaN on both sides and inside") {
    DeviceMemory memory(1 << 20);
    float* const x = static_cast<float*>(memory.allocate(3 * sizeof(float), "x"));
    for (int i = -2; i < 5; ++i) CHECK(std::isnan(x[i]));
    CHECK(reinterpret_cast<std::uintptr_t>(x) % DeviceMemory::kAlignment == 0);
  }

  TEST_CASE("two arrays are a guard gap apart") {
    DeviceMemory memory(1 << 20);
    std::byte* const a = static_cast<std::byte*>(memory.allocate(100, "a"));
    std::byte* const b = static_cast<std::byte*>(memory.allocate(100, "b"));
    CHECK(b - (a + 100) >= static_cast<std::ptrdiff_t>(DeviceMemory::kGuardBytes));
    CHECK(state_of(memory, a + 99) == ByteState::kUnwritten);
    CHECK(state_of(memory, a + 100) == ByteState::kNoArray);
    CHECK(state_of(memory, b - 1) == ByteState::kNoArray);
  }

  TEST_CASE("bytes go from unwritten to written to freed") {
    DeviceMemory memory(1 << 20);
    std::byte* const x = static_cast<std::byte*>(memory.allocate(8, "x"));
    const std::uint32_t value = 7;
    memory.copy_to_device(x + 4, &value, 4);
    CHECK(state_of(memory, x + 3) == ByteState::kUnwritten);
    CHECK(state_of(memory, x + 4) == ByteState::kWritten);
    memory.fill(x, 0, 4);
    CHECK(state_of(memory, x) == ByteState::kWritten);
    std::uint32_t copy = 0;
    memory.copy_to_host(&copy, x + 4, 4);
    CHECK(copy == 7);
    memory.free(x);
    CHECK(state_of(memory, x) == ByteState::kFreed);
    CHECK(x[4] == std::byte{0xff});
  }

  TEST_CASE("copies outside one live array are refused with both numbers") {
    DeviceMemory memory(1 << 20);
    std::byte* const x = static_cast<std::byte*>(memory.allocate(8, "x"));
    std::byte host[16] = {};
    CHECK_THROWS_WITH_AS(memory.copy_to_device(x, host, 9),
                         "copy to device: bytes 0 to 9 (end excluded) of array `x` were asked for, "
                         "but it has 8 bytes.",
                         simt::Error);
    CHECK_THROWS_WITH_AS(memory.copy_to_host(host, x + 6, 4),
                         "copy to host: bytes 6 to 10 (end excluded) of array `x` were asked for, "
                         "but it has 8 bytes.",
                         simt::Error);
    CHECK_THROWS_AS(memory.fill(x - 1, 0, 1), simt::Error);
    CHECK_THROWS_AS(memory.copy_to_device(host, host, 1), simt::Error);
    CHECK_NOTHROW(memory.copy_to_device(x + 8, host, 0));
    CHECK_NOTHROW(memory.fill(x, 1, 8));
    memory.free(x);
    CHECK_THROWS_WITH_AS(memory.fill(x, 0, 8), "fill: array `x` was freed.", simt::Error);
  }

  TEST_CASE("freeing twice or in the middle is refused") {
    DeviceMemory memory(1 << 20);
    std::byte* const x = static_cast<std::byte*>(memory.allocate(8, "x"));
    CHECK_THROWS_WITH_AS(memory.free(x + 4),
                         "free: no array of device memory begins at this address.", simt::Error);
    memory.free(x);
    CHECK_THROWS_WITH_AS(memory.free(x), "free: array `x` was freed already.", simt::Error);
  }

  TEST_CASE("memory that was freed is found again when the rest is used up") {
    // Room for three arrays of 64 KiB with their gaps, not for four.
    DeviceMemory memory(3 * (64 + 16) * 1024 + 32 * 1024);
    const std::size_t bytes = 64 * 1024;
    std::vector<void*> arrays;
    for (int i = 0; i < 3; ++i) arrays.push_back(memory.allocate(bytes, "a"));
    CHECK_THROWS_AS(memory.allocate(bytes, "one too many"), simt::Error);
    CHECK(memory.num_live_arrays() == 3);
    memory.free(arrays[1]);
    CHECK(memory.live_bytes() == 2 * bytes);
    for (int round = 0; round < 10; ++round) {
      void* const again = memory.allocate(bytes, "again");
      CHECK(again == arrays[1]);
      CHECK(state_of(memory, again) == ByteState::kUnwritten);
      CHECK(memory.num_live_arrays() == 3);
      memory.free(again);
    }
  }

  TEST_CASE("thousands of arrays come and go without using up the addresses") {
    DeviceMemory memory(1 << 22);
    const std::vector<std::byte> ones(5000, std::byte{1});
    void* const keeper = memory.allocate(5000, "keeper");
    memory.copy_to_device(keeper, ones.data(), ones.size());
    for (int i = 0; i < 5000; ++i) memory.free(memory.allocate(1 + i % 3000, "passing"));
    std::vector<std::byte> kept(5000);
    memory.copy_to_host(kept.data(), keeper, kept.size());
    CHECK(kept == ones);
    CHECK(memory.num_live_arrays() == 1);
  }

  TEST_CASE("an array larger than the memory is refused") {
    DeviceMemory memory(1 << 20);
    CHECK_THROWS_AS(memory.allocate(std::size_t{1} << 40, "huge"), simt::Error);
    CHECK_THROWS_AS(memory.allocate(~std::size_t{0}, "huge"), simt::Error);
    CHECK_THROWS_AS(DeviceMemory(std::size_t{1} << 60), simt::Error);
  }

  TEST_CASE("an array of no bytes has an address and nothing to touch") {
    DeviceMemory memory(1 << 20);
    void* const nothing = memory.allocate(0, "nothing");
    CHECK(nothing != nullptr);
    CHECK(state_of(memory, nothing) == ByteState::kNoArray);
    memory.free(nothing);
  }
}
