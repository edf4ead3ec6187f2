#include "simulator/simt/access_report.h"

#include <string>

#include "simulator/simt/access_check.h"
#include "simulator/simt/dim3.h"
#include "simulator/simt/running_lane.h"
#include "simulator/simt/source_line.h"

namespace pagelab::simt {

namespace {

// "kernel k, thread block (0, 0, 0), thread (4, 0, 0) at 1_naive.cuh:88 "
std::string beginning(const Access& access) {
  return place_of_running_thread() + at_line(access.pc) + " ";
}

std::string verb_of(AccessKind kind) {
  switch (kind) {
    case AccessKind::kRead:
      return "reads";
    case AccessKind::kAtomic:
      return "changes atomically";
    case AccessKind::kArrival:
      return "writes by an asynchronous copy";
    default:
      return "writes";
  }
}

std::string past_verb_of(AccessKind kind) {
  switch (kind) {
    case AccessKind::kRead:
      return "read";
    case AccessKind::kAtomic:
      return "changed atomically";
    default:
      return "wrote";
  }
}

// "4 elements of 4 bytes", or "10 bytes" where the array holds no whole number of them.
std::string size_of(const ArrayPlace& array, std::size_t element_bytes) {
  if (array.bytes % element_bytes != 0) return std::to_string(array.bytes) + " bytes";
  return std::to_string(array.bytes / element_bytes) + " elements of " +
         std::to_string(element_bytes) + " bytes";
}

// "element 4 of array `x`", or "bytes 6 to 9 of …" where the access does not start at an element.
std::string place_in(const ArrayPlace& array, const Access& access) {
  const std::ptrdiff_t offset = access.address - array.begin;
  const std::ptrdiff_t width = static_cast<std::ptrdiff_t>(access.bytes);
  const std::string place = offset % width == 0 ? "element " + std::to_string(offset / width)
                                                : "bytes " + std::to_string(offset) + " to " +
                                                      std::to_string(offset + width - 1);
  return place + " of " + array.label;
}

// "thread (5, 0, 0)", and of which thread block if it is another one.
std::string owner_of(Stamp stamp) {
  const std::string thread =
      "thread " + to_string(coordinates_of(happens_before.thread_of(stamp), blockDim));
  if (happens_before.is_of_this_thread_block(stamp)) return thread;
  return thread + " of thread block " + to_string(happens_before.thread_block_of(stamp));
}

// What to do about bytes of an array that hold nothing.
std::string unwritten(const Access& access, const ArrayPlace& array, MemorySpace space) {
  const std::string size = size_of(array, access.bytes);
  if (space == MemorySpace::kGlobal) {
    return "was never written (the array has " + size +
           "). Was it to be copied or filled before the launch?";
  }
  return "no thread of this thread block has written (it has " + size +
         "). Shared memory holds anything when a thread block begins.";
}

// Who began an asynchronous copy that has not arrived.
std::string in_flight(const Access& access, const MemoryRegion& region) {
  const CellRef copy = region.cells + region.offset_of(access.address) / 4;
  return "is the destination of an asynchronous copy that " + owner_of(copy.cell->write) +
         " began" + at_line(pc_of(copy.sites->write)) +
         " and has not waited for. Is a cp_async_wait missing?";
}

std::string describe_state(const Access& access, const MemoryRegion& region, ByteState state) {
  const ArrayPlace array = checked_memory->nearest_array(region, access.address);
  std::string sentence = beginning(access) + verb_of(access.kind) + " ";
  if (array.begin == nullptr) return sentence + "device memory, although there is no array in it.";
  sentence += place_in(array, access) + ", which ";
  switch (state) {
    case ByteState::kFreed:
      return sentence + "was freed (it had " + size_of(array, access.bytes) + ").";
    case ByteState::kInFlight:
      return sentence + in_flight(access, region);
    case ByteState::kUnwritten:
      return sentence + unwritten(access, array, checked_memory->space_of(region));
    default:
      sentence += "has " + size_of(array, access.bytes);
      if (!array.is_live) return sentence + " and was freed.";
      return sentence + ". Is a check of the index against the size missing?";
  }
}

std::string describe_race(const Access& access,
                          const MemoryRegion& region,
                          const Conflict& conflict) {
  const ArrayPlace array = checked_memory->nearest_array(region, access.address);
  std::string sentence = beginning(access) + verb_of(access.kind) + " " + place_in(array, access) +
                         ", which " + owner_of(conflict.stamp) + " " + past_verb_of(conflict.kind) +
                         at_line(pc_of(conflict.site));
  if (!happens_before.is_of_this_thread_block(conflict.stamp)) {
    return sentence +
           " in the same launch: a race. Thread blocks run in any order: give each its own part, "
           "use "
           "atomics for all accesses, or launch twice.";
  }
  const bool is_mixed = access.kind == AccessKind::kAtomic || conflict.kind == AccessKind::kAtomic;
  const bool same_warp =
      happens_before.thread_of(conflict.stamp) / kLanesPerWarp == running_thread() / kLanesPerWarp;
  sentence += " with no barrier in between: a race. ";
  if (is_mixed)
    return sentence + "An atomic orders nothing but its like: is a __syncthreads() missing?";
  if (same_warp) return sentence + "Is a __syncthreads() or __syncwarp() missing?";
  return sentence + "Is a __syncthreads() missing?";
}

}  // namespace

void fail_for_null(const Access& access) {
  fail([&] {
    return beginning(access) + verb_of(access.kind) +
           " through a null pointer. Is an array of the launch missing, or empty?";
  });
}

void fail_for_state(const Access& access, const MemoryRegion& region, ByteState state) {
  fail([&] { return describe_state(access, region, state); });
}

void fail_for_alignment(const Access& access, const MemoryRegion& region) {
  fail([&] {
    const ArrayPlace array = checked_memory->nearest_array(region, access.address);
    const std::string width = std::to_string(access.bytes);
    return beginning(access) + verb_of(access.kind) + " " + width + " bytes at byte " +
           std::to_string(access.address - array.begin) + " of " + array.label +
           ", but the address of an access of " + width + " bytes must be a multiple of " + width +
           ".";
  });
}

void fail_for_race(const Access& access, const MemoryRegion& region, const Conflict& conflict) {
  fail([&] { return describe_race(access, region, conflict); });
}

void fail_for_destination(const Access& access) {
  fail([&] {
    return beginning(access) + "copies asynchronously to an address that is not in shared memory.";
  });
}

}  // namespace pagelab::simt
