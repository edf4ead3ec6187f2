// Where a tensor's bytes lie, on both sides of the size from which they lie in huge pages.

#include "reference/tensor/byte_array.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <new>
#include <utility>
#include <vector>

#include "reference/tensor/tensor.h"

using namespace pagelab;

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::int64_t kFloatsInHugePage = (std::int64_t{2} << 20) / 4;

std::size_t offset_in_huge_page(const void* bytes) {
  return reinterpret_cast<std::uintptr_t>(bytes) % kHugePage;
}

// The tensor 1, 2, 3, …, as far as floats count exactly.
Tensor counting(std::int64_t size) {
  Tensor tensor(DType::kFloat32, {size});
  for (std::int64_t i = 0; i < size; ++i) tensor.data<float>()[i] = static_cast<float>(i + 1);
  return tensor;
}

// Whether it is that tensor.
bool counts(const Tensor& tensor, std::int64_t size) {
  if (tensor.shape() != Shape{size}) return false;
  for (std::int64_t i = 0; i < size; ++i) {
    if (tensor.data<float>()[i] != static_cast<float>(i + 1)) return false;
  }
  return true;
}

// Memory of this process that is really there.
std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t total_pages = 0;
  std::size_t resident_pages = 0;
  file >> total_pages >> resident_pages;
  return resident_pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Just below the size, the size, and just above it, in floats.
const std::vector<std::int64_t> kSizes = {1, kFloatsInHugePage - 1, kFloatsInHugePage,
                                          kFloatsInHugePage + 1, 3 * kFloatsInHugePage + 7};

}  // namespace

TEST_SUITE("byte array") {
  TEST_CASE("memory of 2 MiB or more begins at a multiple of 2 MiB and can be used to its end") {
    for (const std::size_t size : {kHugePage, kHugePage + 1, 5 * kHugePage - 3}) {
      CAPTURE(size);
      ByteArray bytes(size);
      CHECK(offset_in_huge_page(bytes.data()) == 0);
      std::memset(bytes.data(), 0x5a, size);
      CHECK(bytes.data()[size - 1] == std::byte{0x5a});
    }
  }

  TEST_CASE("memory below 2 MiB is aligned for every type and spends no huge page") {
    std::vector<ByteArray> all;
    std::size_t num_at_huge_pages = 0;
    for (int i = 0; i < 8; ++i) {
      ByteArray bytes(kHugePage - 1);
      CHECK(reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::max_align_t) == 0);
      if (offset_in_huge_page(bytes.data()) == 0) ++num_at_huge_pages;
      std::memset(bytes.data(), 0x5a, kHugePage - 1);
      all.push_back(std::move(bytes));
    }
    CHECK(num_at_huge_pages < all.size());
    CHECK(ByteArray(0).size() == 0);
  }

  TEST_CASE("a tensor copied over one of another size keeps its values and its own memory") {
    for (const std::int64_t from : kSizes) {
      for (const std::int64_t to : kSizes) {
        CAPTURE(from);
        CAPTURE(to);
        const Tensor source = counting(from);
        Tensor target = counting(to);
        target = source;
        CHECK(counts(target, from));
        CHECK(target.bytes() != source.bytes());
        target.data<float>()[0] = -1.0f;
        CHECK(counts(source, from));
      }
    }
  }

  TEST_CASE("a tensor moved over one of another size brings its memory along") {
    for (const std::int64_t from : kSizes) {
      for (const std::int64_t to : kSizes) {
        CAPTURE(from);
        CAPTURE(to);
        Tensor source = counting(from);
        const std::byte* memory = source.bytes();
        Tensor target = counting(to);
        target = std::move(source);
        CHECK(counts(target, from));
        CHECK(target.bytes() == memory);
      }
    }
  }

  TEST_CASE("a new tensor of 2 MiB is all zeros and begins at a multiple of 2 MiB") {
    for (int again = 0; again < 3; ++again) {
      Tensor tensor(DType::kFloat32, {kFloatsInHugePage});
      CHECK(offset_in_huge_page(tensor.bytes()) == 0);
      bool is_zero = true;
      for (std::int64_t i = 0; i < tensor.size(); ++i) {
        is_zero = is_zero && tensor.data<float>()[i] == 0.0f;
      }
      CHECK(is_zero);
      // What the next one may be given again.
      std::memset(tensor.bytes(), 0xff, static_cast<std::size_t>(tensor.size_in_bytes()));
    }
  }

  TEST_CASE("memory that is given back is not kept") {
    // 40 times 32 MiB, all of it written: 1.25 GiB if nothing were given back. AddressSanitizer keeps
    // a quarter of a GiB for a while.
    constexpr std::size_t kSize = 16 * kHugePage;
    const std::size_t before = resident_bytes();
    for (int i = 0; i < 40; ++i) {
      ByteArray bytes(kSize);
      std::memset(bytes.data(), i, kSize);
    }
    CHECK(resident_bytes() < before + (std::size_t{512} << 20));
  }

#ifndef __SANITIZE_ADDRESS__  // AddressSanitizer ends the program here, and throws nothing
  TEST_CASE("more memory than there is address space for is refused") {
    CHECK_THROWS_AS(ByteArray(std::size_t{1} << 60), std::bad_alloc);
  }
#endif
}
