#include "simulator/simt/cp_async.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "simulator/simt/checks.h"
#include "simulator/simt/counters.h"
#include "simulator/simt/pending_copies.h"
#include "simulator/simt/running_lane.h"
#include "simulator/simt/thread_block.h"

namespace pagelab::simt {

namespace {

bool is_checked() { return running_config()->checks == Checks::kOn; }

// "kernel k, thread block …, thread …: cp.async at 6_pipelined.cuh:88"
std::string copy_at(const void* pc) {
  return place_of_running_thread() + ": cp.async" + at_line(pc);
}

void require_multiple(const void* address, const char* what, std::size_t bytes, const void* pc) {
  const std::uintptr_t over = reinterpret_cast<std::uintptr_t>(address) % bytes;
  if (over == 0) return;
  fail([&] {
    return copy_at(pc) + " of " + std::to_string(bytes) + " bytes has a " + what + " that lies " +
           std::to_string(over) + " bytes past a multiple of " + std::to_string(bytes) +
           ", but both must be multiples.";
  });
}

void require_sizes(std::size_t bytes, std::size_t source_bytes, const void* pc) {
  if (bytes != 4 && bytes != 8 && bytes != 16) {
    fail([&] {
      return copy_at(pc) + " is of " + std::to_string(bytes) + " bytes, but it must be 4, 8 or 16.";
    });
  }
  if (source_bytes > bytes) {
    fail([&] {
      return copy_at(pc) + " reads " + std::to_string(source_bytes) +
             " bytes, but it writes only " + std::to_string(bytes) + ".";
    });
  }
}

void complete(const PendingCopy& copy, const void* pc) {
  if (is_checked()) check_access(copy.shared, copy.bytes, AccessKind::kArrival, pc);
  std::memcpy(copy.shared, copy.data.data(), copy.bytes);
}

}  // namespace

void begin_copy(
    void* shared, const void* global, std::size_t bytes, std::size_t source_bytes, const void* pc) {
  require_sizes(bytes, source_bytes, pc);
  require_multiple(shared, "destination", bytes, pc);
  require_multiple(global, "source", bytes, pc);
  if (is_checked()) {
    if (is_counting()) count_copy(shared, bytes, global, source_bytes, pc);
    if (source_bytes > 0) check_access(global, source_bytes, AccessKind::kRead, pc);
    mark_in_flight(shared, bytes, pc);
  }
  PendingCopies& pending = running_thread_block->pending_copies();
  PendingCopy copy;
  copy.shared = static_cast<std::byte*>(shared);
  copy.bytes = bytes;
  copy.group = pending.num_groups;
  std::memcpy(copy.data.data(), global, source_bytes);
  pending.copies.push_back(copy);
}

void commit_copies() { ++running_thread_block->pending_copies().num_groups; }

void wait_for_copies(unsigned int num_groups, const void* pc) {
  PendingCopies& pending = running_thread_block->pending_copies();
  const auto is_awaited = [&](const PendingCopy& copy) {
    return copy.group + num_groups < pending.num_groups;
  };
  const auto first_to_stay =
      std::find_if_not(pending.copies.begin(), pending.copies.end(), is_awaited);
  for (auto copy = pending.copies.begin(); copy != first_to_stay; ++copy) complete(*copy, pc);
  pending.copies.erase(pending.copies.begin(), first_to_stay);
}

}  // namespace pagelab::simt
