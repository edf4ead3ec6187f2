#include "simulator/simt/device_memory.h"

#include <sys/mman.h>

#include <cstring>

#include "simulator/simt/error.h"

namespace pagelab::simt {

namespace {

constexpr std::size_t kPageBytes = 4096;
// Processors keep two addresses apart in their first cache by some of the lower bits. A byte and its state, read
// one after the other, must differ in them; whole reservations apart, they would not.
constexpr std::size_t kStatesShift = 2048;
// How long freed arrays are remembered: enough to name them, little enough not to matter.
constexpr std::size_t kMaxFreedArrays = 1024;
constexpr std::size_t kMaxFreedBytes = std::size_t{64} << 20;

// Addresses without memory behind them; the system gives zeroed pages where they are touched.
void* reserve(std::size_t bytes) {
  void* const begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) {
    throw Error("the simulator could not reserve " + std::to_string(bytes >> 20) +
                " MiB of addresses for device memory: " + std::strerror(errno) +
                ". Is there a limit on virtual memory (ulimit -v)?");
  }
  madvise(begin, bytes, MADV_HUGEPAGE);  // a piece of advice; small pages do as well, only slower
  return begin;
}

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

std::byte* aligned_up(std::byte* address, std::size_t alignment) {
  return address + (alignment - number(address) % alignment) % alignment;
}

// Gives the whole pages inside a stretch back to the system; they read as zeros afterwards.
void return_pages(void* begin, std::size_t bytes) {
  std::byte* const first = aligned_up(static_cast<std::byte*>(begin), kPageBytes);
  std::byte* const end = static_cast<std::byte*>(begin) + bytes;
  if (end < first + kPageBytes) return;
  madvise(first, static_cast<std::size_t>(end - first) / kPageBytes * kPageBytes, MADV_DONTNEED);
}

}  // namespace

DeviceMemory::DeviceMemory(std::size_t reserved_bytes) : reserved_(reserved_bytes) {
  base_ = static_cast<std::byte*>(reserve(reserved_));
  states_ = static_cast<ByteState*>(reserve(reserved_ + kStatesShift)) + kStatesShift;
  next_ = base_;
}

DeviceMemory::~DeviceMemory() {
  munmap(base_, reserved_);
  munmap(states_ - kStatesShift, reserved_ + kStatesShift);
}

void* DeviceMemory::allocate(std::size_t bytes, const std::string& name, Tracking tracking) {
  const std::lock_guard lock(mutex_);
  std::byte* const begin = find_gap(bytes);
  if (begin == nullptr) {
    throw Error("the simulator's device memory has no room for array `" + name + "` of " +
                std::to_string(bytes) + " bytes (" + std::to_string(reserved_) +
                " bytes in all, guard gaps included).");
  }
  forget_freed_arrays_between(begin - kGuardBytes, begin + bytes + kGuardBytes);
  std::memset(begin - kGuardBytes, kPoison, bytes + 2 * kGuardBytes);
  set_states(begin, bytes,
             tracking == Tracking::kWrites ? ByteState::kUnwritten : ByteState::kWritten);
  arrays_[begin] = DeviceArrayInfo{name, begin, bytes, true, tracking};
  next_ = begin + bytes;
  return begin;
}

// Walks the live arrays from `next_` on, then once more from the start. An array of no bytes takes
// a place all the same, so that it has an address of its own.
std::byte* DeviceMemory::find_gap(std::size_t bytes) const {
  if (bytes > reserved_) return nullptr;
  for (std::byte* start : {next_, base_}) {
    std::byte* candidate = aligned_up(start + kGuardBytes, kAlignment);
    for (const auto& [begin, array] : arrays_) {
      if (!array.is_live || begin + array.bytes + kGuardBytes <= candidate) continue;
      if (candidate + bytes + kGuardBytes <= begin) break;
      candidate = aligned_up(begin + array.bytes + kGuardBytes, kAlignment);
    }
    if (candidate + bytes + kGuardBytes <= base_ + reserved_) return candidate;
  }
  return nullptr;
}

void DeviceMemory::free(void* array) {
  const std::lock_guard lock(mutex_);
  const auto found = arrays_.find(static_cast<std::byte*>(array));
  if (found == arrays_.end()) {
    throw Error("free: no array of device memory begins at this address.");
  }
  DeviceArrayInfo& info = found->second;
  if (!info.is_live) throw Error("free: array `" + info.name + "` was freed already.");
  info.is_live = false;
  std::memset(info.begin, kPoison, info.bytes);
  set_states(info.begin, info.bytes, ByteState::kFreed);
  shadow_.forget(static_cast<std::size_t>(info.begin - base_), info.bytes);
  freed_.push_back(info.begin);
  freed_bytes_ += info.bytes;
  forget_oldest_freed_arrays();
}

void DeviceMemory::forget_oldest_freed_arrays() {
  while (freed_.size() > kMaxFreedArrays || freed_bytes_ > kMaxFreedBytes) {
    const DeviceArrayInfo oldest = arrays_.at(freed_.front());
    forget_freed_arrays_between(oldest.begin, oldest.begin + oldest.bytes);
    return_pages(oldest.begin, oldest.bytes);
    return_pages(states_ + (oldest.begin - base_), oldest.bytes);
  }
}

void DeviceMemory::forget_freed_arrays_between(std::byte* begin, std::byte* end) {
  std::erase_if(freed_, [&](std::byte* freed_begin) {
    const DeviceArrayInfo& array = arrays_.at(freed_begin);
    const bool lies_between = freed_begin <= end && begin <= freed_begin + array.bytes;
    if (!lies_between) return false;
    set_states(array.begin, array.bytes, ByteState::kNoArray);
    freed_bytes_ -= array.bytes;
    arrays_.erase(freed_begin);
    return true;
  });
}

void DeviceMemory::set_states(std::byte* begin, std::size_t bytes, ByteState state) {
  std::memset(static_cast<void*>(states_ + (begin - base_)), static_cast<int>(state), bytes);
}

DeviceArrayInfo& DeviceMemory::live_array_of(const void* begin,
                                             std::size_t bytes,
                                             const char* verb) {
  std::byte* const first = static_cast<std::byte*>(const_cast<void*>(begin));
  auto after = arrays_.upper_bound(first);
  if (after == arrays_.begin()) {
    throw Error(std::string(verb) + ": the address belongs to no array of device memory.");
  }
  DeviceArrayInfo& array = std::prev(after)->second;
  const std::size_t offset = static_cast<std::size_t>(first - array.begin);
  if (offset > array.bytes || bytes > array.bytes - offset) {
    throw Error(std::string(verb) + ": bytes " + std::to_string(offset) + " to " +
                std::to_string(offset + bytes) + " (end excluded) of array `" + array.name +
                "` were asked for, but it has " + std::to_string(array.bytes) + " bytes.");
  }
  if (!array.is_live) {
    throw Error(std::string(verb) + ": array `" + array.name + "` was freed.");
  }
  return array;
}

void DeviceMemory::copy_to_device(void* to, const void* from, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0) return;
  const DeviceArrayInfo& array = live_array_of(to, bytes, "copy to device");
  std::memcpy(to, from, bytes);
  if (array.tracking == Tracking::kWrites) {
    set_states(static_cast<std::byte*>(to), bytes, ByteState::kWritten);
  }
}

void DeviceMemory::copy_to_host(void* to, const void* from, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0) return;
  live_array_of(from, bytes, "copy to host");
  std::memcpy(to, from, bytes);
}

void DeviceMemory::fill(void* to, unsigned char value, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0) return;
  const DeviceArrayInfo& array = live_array_of(to, bytes, "fill");
  std::memset(to, value, bytes);
  if (array.tracking == Tracking::kWrites) {
    set_states(static_cast<std::byte*>(to), bytes, ByteState::kWritten);
  }
}

std::size_t DeviceMemory::num_live_arrays() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [begin, array] : arrays_) count += array.is_live ? 1 : 0;
  return count;
}

std::size_t DeviceMemory::live_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& [begin, array] : arrays_) bytes += array.is_live ? array.bytes : 0;
  return bytes;
}

const DeviceArrayInfo* DeviceMemory::nearest_array(const void* address) const {
  const std::lock_guard lock(mutex_);
  std::byte* const wanted = static_cast<std::byte*>(const_cast<void*>(address));
  const auto after = arrays_.upper_bound(wanted);
  if (after == arrays_.begin()) return after == arrays_.end() ? nullptr : &after->second;
  const DeviceArrayInfo* const before = &std::prev(after)->second;
  std::byte* const end_of_before = before->begin + before->bytes;
  const bool is_inside = wanted < end_of_before;
  if (is_inside || after == arrays_.end()) return before;
  return wanted - end_of_before <= after->first - wanted ? before : &after->second;
}

Shadow& DeviceMemory::shadow() {
  const std::lock_guard lock(mutex_);
  if (shadow_.cells().cell == nullptr) shadow_ = Shadow(reserved_);
  return shadow_;
}

DeviceMemory& device_memory() {
  constexpr std::size_t kReservedBytes = std::size_t{64} << 30;
  static DeviceMemory memory(kReservedBytes);
  return memory;
}

}  // namespace pagelab::simt
