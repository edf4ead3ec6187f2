#include "simulator/simt/memory_region.h"

#include <algorithm>
#include <cstring>

#include "simulator/simt/checks.h"
#include "simulator/simt/shared_arrays.h"

namespace pagelab::simt {

namespace {

constexpr std::size_t kRegionAlignment = 16;  // of the widest access

// Beyond the last static array, where an index a little too large arrives.
constexpr std::size_t kStaticGuardBytes = 256;

void set_states(std::vector<ByteState>& states,
                std::size_t offset,
                std::size_t bytes,
                ByteState state) {
  std::fill_n(states.begin() + static_cast<std::ptrdiff_t>(offset), bytes, state);
}

// How far an address lies outside an array.
std::size_t distance_to(std::size_t offset, std::size_t begin, std::size_t bytes) {
  if (offset < begin) return begin - offset;
  const std::size_t end = begin + bytes;
  return offset < end ? 0 : offset - end + 1;
}

}  // namespace

void CheckedMemory::begin_launch(unsigned int age) {
  DeviceMemory& memory = device_memory();
  const Shadow& shadow = memory.shadow();
  region(MemorySpace::kGlobal) = {memory.base(),
                                  memory.reserved_bytes() - DeviceMemory::kGuardBytes,
                                  memory.states(), shadow.cells(), shadow.cells_per_plane()};
  if (thread_local_begin_ == nullptr) find_static_arrays();
  region(MemorySpace::kDynamicShared) = {};
  set_age(age);
}

void CheckedMemory::set_age(unsigned int age) {
  if (age == age_) return;
  age_ = age;
  forget_stamps();
}

void CheckedMemory::find_static_arrays() {
  const ThreadLocalLayout& layout = thread_local_layout();
  thread_local_begin_ = thread_local_begin();
  is_dirty_.assign(layout.arrays.size(), false);
  if (layout.arrays.empty()) return;
  const std::size_t first = layout.arrays.front().offset;
  std::size_t end = 0;
  for (const SharedArray& array : layout.arrays) end = std::max(end, array.offset + array.bytes);
  std::byte* const begin = thread_local_begin_ + first;
  const std::size_t surplus = reinterpret_cast<std::uintptr_t>(begin) % kRegionAlignment;
  MemoryRegion& region_of_statics = region(MemorySpace::kStaticShared);
  region_of_statics.begin = begin - surplus;
  region_of_statics.bytes = end - first + surplus + kStaticGuardBytes;
  static_states_.assign(region_of_statics.bytes, ByteState::kNoArray);
  const std::size_t region_offset = first - surplus;
  for (const SharedArray& variable : layout.variables) {
    const std::size_t variable_end = variable.offset + variable.bytes;
    const std::size_t from = std::max(variable.offset, region_offset);
    const std::size_t to = std::min(variable_end, region_offset + region_of_statics.bytes);
    if (from < to) set_states(static_states_, from - region_offset, to - from, ByteState::kForeign);
  }
  for (const SharedArray& array : layout.arrays) {
    set_states(static_states_, array.offset - region_offset, array.bytes, ByteState::kUnwritten);
  }
  static_shadow_ = Shadow(region_of_statics.bytes);
  region_of_statics.states = static_states_.data();
  region_of_statics.cells = static_shadow_.cells();
  region_of_statics.cells_per_plane = static_shadow_.cells_per_plane();
}

void CheckedMemory::set_dynamic_shared(std::byte* begin, std::size_t bytes) {
  dynamic_begin_ = begin;
  dynamic_bytes_ = bytes;
  dynamic_is_dirty_ = true;
  if (bytes == 0) return;
  const std::size_t region_bytes = bytes + 2 * kSharedGuardBytes;
  dynamic_states_.assign(region_bytes, ByteState::kNoArray);
  if (dynamic_shadow_.cells_per_plane() * kWordBytes < region_bytes) {
    dynamic_shadow_ = Shadow(kMaxSharedBytes + 2 * kSharedGuardBytes);
  }
  region(MemorySpace::kDynamicShared) = {begin - kSharedGuardBytes, region_bytes,
                                         dynamic_states_.data(), dynamic_shadow_.cells(),
                                         dynamic_shadow_.cells_per_plane()};
}

void CheckedMemory::begin_thread_block() {
  const std::vector<SharedArray>& arrays = thread_local_layout().arrays;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (!is_dirty_[i]) continue;
    std::byte* const begin = thread_local_begin_ + arrays[i].offset;
    std::memset(begin, kPoison, arrays[i].bytes);
    const std::byte* const region_begin = region(MemorySpace::kStaticShared).begin;
    set_states(static_states_, static_cast<std::size_t>(begin - region_begin), arrays[i].bytes,
               ByteState::kUnwritten);
    is_dirty_[i] = false;
  }
  if (dynamic_is_dirty_ && dynamic_bytes_ > 0) {  // the thread block has poisoned its bytes
    set_states(dynamic_states_, kSharedGuardBytes, dynamic_bytes_, ByteState::kUnwritten);
    dynamic_is_dirty_ = false;
  }
}

void CheckedMemory::forget_stamps() {
  device_memory().shadow().clear();
  static_shadow_.clear();
  dynamic_shadow_.clear();
}

void CheckedMemory::note_written(const MemoryRegion& region, const std::byte* address) {
  const MemorySpace space = space_of(region);
  if (space == MemorySpace::kDynamicShared) dynamic_is_dirty_ = true;
  if (space != MemorySpace::kStaticShared) return;
  const std::vector<SharedArray>& arrays = thread_local_layout().arrays;
  const std::size_t offset = static_cast<std::size_t>(address - thread_local_begin_);
  const auto holds = [&](std::size_t i) {
    return distance_to(offset, arrays[i].offset, arrays[i].bytes) == 0;
  };
  if (!holds(last_dirty_)) {
    const auto after = std::upper_bound(
        arrays.begin(), arrays.end(), offset,
        [](std::size_t wanted, const SharedArray& array) { return wanted < array.offset; });
    last_dirty_ = static_cast<std::size_t>(after - arrays.begin()) - 1;
  }
  is_dirty_[last_dirty_] = true;
}

std::size_t CheckedMemory::written_static_bytes() const {
  const std::vector<SharedArray>& arrays = thread_local_layout().arrays;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (is_dirty_[i]) bytes += arrays[i].bytes;
  }
  return bytes;
}

ArrayPlace CheckedMemory::nearest_array(const MemoryRegion& region,
                                        const std::byte* address) const {
  switch (space_of(region)) {
    case MemorySpace::kGlobal: {
      const DeviceArrayInfo* const array = device_memory().nearest_array(address);
      if (array == nullptr) return {};
      return {"array `" + array->name + "`", array->begin, array->bytes, array->is_live};
    }
    case MemorySpace::kStaticShared: {
      const std::vector<SharedArray>& arrays = thread_local_layout().arrays;
      const std::size_t offset = static_cast<std::size_t>(address - thread_local_begin_);
      const auto nearest = std::min_element(arrays.begin(), arrays.end(),
                                            [&](const SharedArray& one, const SharedArray& other) {
                                              return distance_to(offset, one.offset, one.bytes) <
                                                     distance_to(offset, other.offset, other.bytes);
                                            });
      return {"shared array `" + nearest->name + "`", thread_local_begin_ + nearest->offset,
              nearest->bytes};
    }
    default:
      return {"dynamic shared memory", dynamic_begin_, dynamic_bytes_};
  }
}

}  // namespace pagelab::simt
