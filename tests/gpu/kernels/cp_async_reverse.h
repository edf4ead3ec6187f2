/// \file
/// A kernel that brings an array to shared memory with cp.async, two tiles at a time, and writes each
/// tile in reverse.
#pragma once

#include <cstdint>

namespace pagelab::test {

/// One thread block; a tile holds one copy of each of its threads.
struct CpAsyncReverseParams {
  const std::uint32_t* x = nullptr;  ///< [num_words]
  std::uint32_t* y = nullptr;        ///< [num_tiles · threads · words a copy]
  int num_words = 0;                 ///< what lies past them counts as zero
  int bytes_per_copy = 16;           ///< 4, 8 or 16
  bool waits = true;                 ///< the mistake where it is false
};

}  // namespace pagelab::test

namespace pagelab::on_cuda {
/// Launches the kernel that nvcc compiled.
void cp_async_reverse(const test::CpAsyncReverseParams& params, unsigned int threads);
}  // namespace pagelab::on_cuda

namespace pagelab::on_simulator {
/// Runs the kernel that g++ compiled.
void cp_async_reverse(const test::CpAsyncReverseParams& params, unsigned int threads);
}  // namespace pagelab::on_simulator

namespace pagelab::on_checked_simulator {
/// Runs the kernel that g++ compiled with every access checked.
void cp_async_reverse(const test::CpAsyncReverseParams& params, unsigned int threads);
}  // namespace pagelab::on_checked_simulator
