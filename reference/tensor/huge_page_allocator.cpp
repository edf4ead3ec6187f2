#include "reference/tensor/huge_page_allocator.h"

#include <sys/mman.h>

#include <new>

namespace pagelab {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

std::byte* HugePageAllocator::allocate(std::size_t num_bytes) {
  if (num_bytes < kHugePage) return static_cast<std::byte*>(::operator new(num_bytes));
  void* bytes = ::operator new (num_bytes, std::align_val_t{kHugePage});
#ifdef MADV_HUGEPAGE
  // A piece of advice: where the system has no huge pages, small ones do as well, only slower.
  madvise(bytes, num_bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  return static_cast<std::byte*>(bytes);
}

void HugePageAllocator::deallocate(std::byte* bytes, std::size_t num_bytes) noexcept {
  if (num_bytes < kHugePage) {
    ::operator delete(bytes);
  } else {
    ::operator delete (bytes, std::align_val_t{kHugePage});
  }
}

}  // namespace pagelab
