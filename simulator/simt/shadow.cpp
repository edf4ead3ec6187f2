#include "simulator/simt/shadow.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "simulator/simt/error.h"

namespace pagelab::simt {

namespace {

// Addresses of so many zeros.
template <typename T>
T* reserve(std::size_t count) {
  const std::size_t bytes = count * sizeof(T);
  void* const begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) {
    const std::string why = std::strerror(errno);
    throw Error("the simulator's checks could not reserve " + std::to_string(bytes >> 20) +
                " MiB of addresses: " + why + ". Is there a limit on virtual memory (ulimit -v)?");
  }
  // Seven bytes for one: with pages of 4 KiB the look-up of pages takes a third of a check's time.
  madvise(begin, bytes, MADV_HUGEPAGE);
  return static_cast<T*>(begin);
}

template <typename T>
void give_back(T* first, std::size_t count) {
  constexpr std::uintptr_t kPageBytes = 4096;
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(first);
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(first + count);
  const std::uintptr_t first_page = begin / kPageBytes * kPageBytes;
  const std::uintptr_t end_page = (end + kPageBytes - 1) / kPageBytes * kPageBytes;
  madvise(reinterpret_cast<void*>(first_page), end_page - first_page, MADV_DONTNEED);
}

}  // namespace

const void* pc_of(Site site) { return site == 0 ? nullptr : __executable_start + site; }

Shadow::Shadow(std::size_t bytes) : cells_per_plane_((bytes + 3) / 4) {
  if (cells_per_plane_ == 0) return;
  cells_ = {reserve<Cell>(num_cells()), reserve<CellSites>(num_cells())};
}

Shadow::~Shadow() {
  if (cells_.cell == nullptr) return;
  munmap(cells_.cell, num_cells() * sizeof(Cell));
  munmap(cells_.sites, num_cells() * sizeof(CellSites));
}

Shadow::Shadow(Shadow&& other) noexcept { *this = std::move(other); }

Shadow& Shadow::operator=(Shadow&& other) noexcept {
  std::swap(cells_, other.cells_);
  std::swap(cells_per_plane_, other.cells_per_plane_);
  return *this;
}

void Shadow::clear() {
  if (cells_.cell == nullptr) return;
  give_back(cells_.cell, num_cells());
  give_back(cells_.sites, num_cells());
}

void Shadow::forget(std::size_t offset, std::size_t bytes) {
  if (cells_.cell == nullptr || bytes == 0) return;
  const std::size_t first = offset / 4;
  const std::size_t count = (offset + bytes + 3) / 4 - first;
  for (std::size_t plane = 0; plane < 4; ++plane) {
    const CellRef begin = cells_ + (plane * cells_per_plane_ + first);
    give_back(begin.cell, count);
    give_back(begin.sites, count);
  }
}

}  // namespace pagelab::simt
