#include "reference/tensor/byte_array.h"

#include <sys/mman.h>

#include <cstring>
#include <new>
#include <utility>

namespace pagelab {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Uninitialised; null for 0.
std::byte* allocate(std::size_t size) {
  if (size == 0) return nullptr;
  if (size < kHugePage) return static_cast<std::byte*>(::operator new(size));
  void* bytes = ::operator new (size, std::align_val_t{kHugePage});
#ifdef MADV_HUGEPAGE
  // A piece of advice: where the system has no huge pages, small ones do as well, only slower.
  madvise(bytes, size / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  return static_cast<std::byte*>(bytes);
}

}  // namespace

ByteArray::ByteArray(std::size_t size) : size_(size), bytes_(allocate(size)) {
  if (size_ > 0) std::memset(bytes_, 0, size_);
}

ByteArray::ByteArray(const ByteArray& other) : size_(other.size_), bytes_(allocate(other.size_)) {
  if (size_ > 0) std::memcpy(bytes_, other.bytes_, size_);
}

ByteArray::ByteArray(ByteArray&& other) noexcept
    : size_(std::exchange(other.size_, 0)), bytes_(std::exchange(other.bytes_, nullptr)) {}

ByteArray& ByteArray::operator=(ByteArray other) noexcept {
  std::swap(size_, other.size_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

ByteArray::~ByteArray() {
  if (size_ < kHugePage) {
    ::operator delete(bytes_);
  } else {
    ::operator delete (bytes_, std::align_val_t{kHugePage});
  }
}

}  // namespace pagelab
