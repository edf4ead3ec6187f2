/// \file
/// Small kernels with one mistake each, and the same kernels without it. They are compiled as the
/// checked kernels are (kernels_under_test.cpp), and launched from the tests.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pagelab::test {

/// A structure of 24 bytes, which is copied in one go.
struct Triple {
  double a;  ///< first
  double b;  ///< second
  double c;  ///< third
};

/// x[thread] = thread + 1, on one thread block. With `bounds` = 8 threads and n = 4, the missing
/// check of S8 writes past the end.
void run_fill(float* x, int n, bool checks_bounds, unsigned int threads);

/// y[t] = x[t + shift]: reads outside x at one of its ends unless shift is 0.
void run_shifted_copy(const double* x, double* y, std::int64_t shift, unsigned int threads);

/// y[t] = x[t] for one element type and for structures: each width of access.
void run_copy(const std::uint8_t* x, std::uint8_t* y, unsigned int threads);
/// \copydoc run_copy(const std::uint8_t*, std::uint8_t*, unsigned int)
void run_copy(const std::uint16_t* x, std::uint16_t* y, unsigned int threads);
/// \copydoc run_copy(const std::uint8_t*, std::uint8_t*, unsigned int)
void run_copy(const std::uint32_t* x, std::uint32_t* y, unsigned int threads);
/// \copydoc run_copy(const std::uint8_t*, std::uint8_t*, unsigned int)
void run_copy(const std::uint64_t* x, std::uint64_t* y, unsigned int threads);
/// \copydoc run_copy(const std::uint8_t*, std::uint8_t*, unsigned int)
void run_copy(const Triple* x, Triple* y, unsigned int threads);

/// sum[0] = x[0] + … on one thread, over a local array of partial sums: locals are not checked.
void run_sum(const float* x, float* sum, int n);

/// y = x with each five elements in reverse, through shared memory; three thread blocks.
void run_reverse_tiles(const float* x, float* y);

/// Copies to y [3 · 5] what shared memory holds when each of three thread blocks begins; each then fills
/// it with sevens.
void run_leftovers(float* y);

/// The element at grid coordinates: thread block (2, 1, 0) of (3, 2, 1), thread (1, 0, 0) of
/// (2, 1, 1) alone writes x[bad_index].
void run_one_bad_thread(float* x, std::int64_t bad_index);

}  // namespace pagelab::test
