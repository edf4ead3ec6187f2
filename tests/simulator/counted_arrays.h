/// \file
/// Arrays for the kernels of counted_kernels.h, and counts made by hand to compare with.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simulator/simt/counters.h"
#include "simulator/simt/device_memory.h"
#include "simulator/simt/error.h"

namespace pagelab::test {

using namespace simt;

/// Device memory of 4,096 numbers 0, 1, 2, …
template <typename T>
class Numbers {
 public:
  explicit Numbers(const std::string& name)
      : data_(static_cast<T*>(device_memory().allocate(kCount * sizeof(T), name))) {
    std::vector<T> values(kCount);
    for (std::size_t idx = 0; idx < kCount; ++idx) values[idx] = static_cast<T>(idx);
    device_memory().copy_to_device(data_, values.data(), kCount * sizeof(T));
  }
  ~Numbers() { device_memory().free(data_); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  T* data() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> values(kCount);
    device_memory().copy_to_host(values.data(), data_, kCount * sizeof(T));
    return values;
  }
  static constexpr std::size_t kCount = 4096;

 private:
  T* data_;
};

/// What a counted kernel reads and writes.
struct Arrays {
  Numbers<float> x{"x"};
  Numbers<float> y{"y"};
  Numbers<float> z{"z"};
};

/// What one launch did, all lines together.
inline Counters totals_of(const std::function<void()>& launch) {
  const ScopedCounting counting;
  launch();
  return counting.counters().totals;
}

/// Counts of an access to global memory, made by hand.
inline MemoryCounts global(std::uint64_t requests,
                           std::uint64_t lanes,
                           std::uint64_t bytes,
                           std::uint64_t sectors) {
  return {requests, lanes, bytes, sectors, 0, 0};
}

/// The same for shared memory.
inline MemoryCounts shared(std::uint64_t requests,
                           std::uint64_t lanes,
                           std::uint64_t bytes,
                           std::uint64_t wavefronts,
                           std::uint64_t conflicts) {
  return {requests, lanes, bytes, 0, wavefronts, conflicts};
}

/// For a message that shows both sides.
inline std::string text_of(const MemoryCounts& counts) {
  return std::to_string(counts.requests) + " requests, " + std::to_string(counts.lanes) +
         " lanes, " + std::to_string(counts.bytes) + " bytes, " + std::to_string(counts.sectors) +
         " sectors, " + std::to_string(counts.wavefronts) + " wavefronts, " +
         std::to_string(counts.conflicts) + " conflicts";
}

/// Checks all six counts.
inline void check_equal(const MemoryCounts& counts, const MemoryCounts& expected) {
  CHECK(text_of(counts) == text_of(expected));
}

/// What a call throws; empty if it throws nothing.
inline std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace pagelab::test
