#include "simulator/simt/shadow.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "simulator/simt/error.h"

namespace pagelab::simt {

const void* pc_of(Site site) { return site == 0 ? nullptr : __executable_start + site; }

Shadow::Shadow(std::size_t bytes) : cells_per_plane_((bytes + 3) / 4) {
  if (cells_per_plane_ == 0) return;
  void* const begin = mmap(nullptr, reserved_bytes(), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) {
    const std::string why = std::strerror(errno);
    throw Error("the simulator's checks could not reserve " +
                std::to_string(reserved_bytes() >> 20) + " MiB of addresses: " + why +
                ". Is there a limit on virtual memory (ulimit -v)?");
  }
  // Ten bytes for one: with pages of 4 KiB the look-up of pages takes a third of a check's time.
  madvise(begin, reserved_bytes(), MADV_HUGEPAGE);
  cells_ = static_cast<Cell*>(begin);
}

Shadow::~Shadow() {
  if (cells_ != nullptr) munmap(cells_, reserved_bytes());
}

Shadow::Shadow(Shadow&& other) noexcept { *this = std::move(other); }

Shadow& Shadow::operator=(Shadow&& other) noexcept {
  std::swap(cells_, other.cells_);
  std::swap(cells_per_plane_, other.cells_per_plane_);
  return *this;
}

void Shadow::clear() {
  if (cells_ != nullptr) madvise(cells_, reserved_bytes(), MADV_DONTNEED);
}

void Shadow::forget(std::size_t offset, std::size_t bytes) {
  if (cells_ == nullptr || bytes == 0) return;
  constexpr std::uintptr_t kPageBytes = 4096;
  for (std::size_t plane = 0; plane < 4; ++plane) {
    const Cell* const plane_begin = cells_ + plane * cells_per_plane_;
    const auto first = reinterpret_cast<std::uintptr_t>(plane_begin + offset / 4);
    const auto end = reinterpret_cast<std::uintptr_t>(plane_begin + (offset + bytes + 3) / 4);
    const std::uintptr_t first_page = first / kPageBytes * kPageBytes;
    const std::uintptr_t end_page = (end + kPageBytes - 1) / kPageBytes * kPageBytes;
    madvise(reinterpret_cast<void*>(first_page), end_page - first_page, MADV_DONTNEED);
  }
}

}  // namespace pagelab::simt
