#include "simulator/simt/warp_matrix.h"

#include <cstring>
#include <string>

#include "simulator/simt/access_check.h"
#include "simulator/simt/counters.h"
#include "simulator/simt/launch.h"
#include "simulator/simt/running_lane.h"

namespace pagelab::simt {
namespace {

constexpr std::size_t kRowBytes = sizeof(MatrixRow);

// "kernel k, thread block …, thread …: ldmatrix.x4 at 4_mma.cuh:88"
std::string place_of_word(const char* word, const void* pc) {
  return place_of_running_thread() + ": " + word + at_line(pc);
}

void require_multiple(const char* word, const void* row, const void* pc) {
  const std::uintptr_t over = reinterpret_cast<std::uintptr_t>(row) % kRowBytes;
  if (over == 0) return;
  fail([&] {
    return place_of_word(word, pc) + " has a row that lies " + std::to_string(over) +
           " bytes past a multiple of 16, but a row of a matrix must be at a multiple.";
  });
}

void require_shared(const char* word, const void* row, const void* pc) {
  if (checked_memory == nullptr || is_null(row)) return;  // check_access refuses a null pointer
  const MemoryRegion* const region = checked_memory->region_of(row);
  if (region != nullptr && checked_memory->space_of(*region) != MemorySpace::kGlobal) return;
  fail([&] { return place_of_word(word, pc) + " has a row that is not in shared memory."; });
}

}  // namespace

void require_whole_warp(const char* word, const void* pc) {
  const unsigned int first_of_warp = running_thread() / kLanesPerWarp * kLanesPerWarp;
  const unsigned int lanes = threads_per_cta() - first_of_warp;
  if (lanes >= kLanesPerWarp) return;
  fail([&] {
    return place_of_word(word, pc) + " needs all 32 lanes of a warp, but this one has " +
           std::to_string(lanes) + ": the thread block has " + std::to_string(threads_per_cta()) +
           " threads, which is no multiple of 32.";
  });
}

MatrixRow read_matrix_row(const char* word, const void* row, const void* pc) {
  require_multiple(word, row, pc);
  if (running_config()->checks == Checks::kOn) {
    require_shared(word, row, pc);
    if (is_counting()) count_access(row, kRowBytes, AccessKind::kRead, pc);
    check_access(row, kRowBytes, AccessKind::kRead, pc);
  }
  MatrixRow elements;
  std::memcpy(&elements, row, kRowBytes);
  return elements;
}

}  // namespace pagelab::simt
