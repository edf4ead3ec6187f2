#include "simulator/simt/access_check.h"

#include <algorithm>
#include <cstdio>

#include "simulator/simt/device_memory.h"
#include "simulator/simt/running_lane.h"

namespace pagelab::simt {

namespace {

// Addresses this small come from a null pointer plus an index.
constexpr std::uintptr_t kNullPage = 64 * 1024;

bool is_null(const void* address) { return reinterpret_cast<std::uintptr_t>(address) < kNullPage; }

bool is_allowed(ByteState state, AccessKind kind) {
  return kind == AccessKind::kRead ? state == ByteState::kWritten : state >= ByteState::kUnwritten;
}

// Whether an access begins in the addresses of device memory, guard gaps and all.
bool lies_in_device_memory(const void* address) {
  const DeviceMemory& memory = device_memory();
  const std::uintptr_t offset =
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(memory.base());
  return offset < memory.reserved_bytes() - DeviceMemory::kGuardBytes;
}

// The states of the bytes from an address of device memory on.
ByteState* states_at(const void* address) {
  const DeviceMemory& memory = device_memory();
  return memory.states() + (static_cast<const std::byte*>(address) - memory.base());
}

// "4 elements of 4 bytes", or "10 bytes" where the array holds no whole number of them.
std::string size_of(const DeviceArrayInfo& array, std::size_t element_bytes) {
  if (array.bytes % element_bytes != 0) return std::to_string(array.bytes) + " bytes";
  return std::to_string(array.bytes / element_bytes) + " elements of " +
         std::to_string(element_bytes) + " bytes";
}

// "element 4", or "bytes 6 to 9" where the access does not start at an element.
std::string place_in(const DeviceArrayInfo& array, const std::byte* address, std::size_t bytes) {
  const std::ptrdiff_t offset = address - array.begin;
  const std::ptrdiff_t width = static_cast<std::ptrdiff_t>(bytes);
  if (offset % width == 0) return "element " + std::to_string(offset / width);
  return "bytes " + std::to_string(offset) + " to " + std::to_string(offset + width - 1);
}

[[noreturn]] void fail_for_access(const void* address, std::size_t bytes, AccessKind kind) {
  fail([&] {
    return place_of_running_thread() + " " + describe_wrong_access(address, bytes, kind);
  });
}

}  // namespace

std::string describe_wrong_access(const void* address, std::size_t bytes, AccessKind kind) {
  const std::string verb = kind == AccessKind::kRead ? "reads " : "writes ";
  if (is_null(address)) return verb + "through a null pointer.";
  if (!lies_in_device_memory(address)) return "";
  const ByteState* const states = states_at(address);
  const ByteState* const wrong = std::find_if_not(
      states, states + bytes, [&](ByteState state) { return is_allowed(state, kind); });
  if (wrong == states + bytes) return "";

  const std::byte* const first = static_cast<const std::byte*>(address);
  const DeviceArrayInfo* const array = device_memory().nearest_array(address);
  if (array == nullptr) return verb + "device memory, although there is no array in it.";
  std::string sentence =
      verb + place_in(*array, first, bytes) + " of array `" + array->name + "`, which ";
  if (*wrong == ByteState::kNoArray) {
    sentence += "has " + size_of(*array, bytes);
    sentence += array->is_live ? "." : " and was freed.";
  } else if (*wrong == ByteState::kFreed) {
    sentence += "was freed (it had " + size_of(*array, bytes) + ").";
  } else {
    sentence += "was never written (the array has " + size_of(*array, bytes) + ").";
  }
  return sentence;
}

void check_access(const void* address, std::size_t bytes, AccessKind kind, const void*) {
  if (running_thread_block == nullptr) return;
  if (is_null(address)) fail_for_access(address, bytes, kind);
  if (!lies_in_device_memory(address)) return;
  ByteState* const states = states_at(address);
  for (std::size_t byte = 0; byte < bytes; ++byte) {
    if (!is_allowed(states[byte], kind)) fail_for_access(address, bytes, kind);
    if (kind != AccessKind::kRead) states[byte] = ByteState::kWritten;
  }
}

}  // namespace pagelab::simt
