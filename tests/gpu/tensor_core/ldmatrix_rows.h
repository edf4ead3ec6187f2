/// \file
/// A kernel that loads matrices with every form of gpu/device/ldmatrix.h from rows that lie in no order.
#pragma once

#include <cstdint>

namespace pagelab::test {

/// Forms of ldmatrix: x1, x2, x4, and the same with trans.
constexpr int kLdmatrixForms = 6;
/// Distance of two rows in shared memory, in elements. Rows are 16 bytes and lie at multiples of 16.
constexpr int kLdmatrixPitch = 24;

/// Which row of shared memory a lane points to.
inline constexpr int kLdmatrixRowOfLane[32] = {17, 3,  30, 8,  0, 21, 12, 25, 6,  28, 11,
                                               1,  19, 15, 31, 4, 9,  23, 14, 2,  27, 18,
                                               5,  29, 10, 22, 7, 16, 26, 13, 24, 20};

/// What the kernel gets: one warp.
struct LdmatrixRowsParams {
  const std::uint16_t* rows = nullptr;  ///< [32, kLdmatrixPitch] copied to shared memory first
  std::uint32_t* registers = nullptr;   ///< [kLdmatrixForms, 32 lanes, 4]; what a form lacks is 0
  const int* row_of_lane = nullptr;     ///< [32] kLdmatrixRowOfLane
  int threads = 32;                     ///< of the thread block; fewer than 32 is a mistake
  int offset = 0;  ///< elements past the row's beginning; not a multiple of 8 is a mistake
  bool from_global = false;    ///< from `rows` itself: a mistake
  bool lacks_barrier = false;  ///< between writing shared memory and loading: a mistake
};

/// Launches the kernel.
using LdmatrixRows = void (*)(const LdmatrixRowsParams& params);

}  // namespace pagelab::test

namespace pagelab::on_cuda {
/// Launches the kernel that nvcc compiled.
void ldmatrix_rows(const test::LdmatrixRowsParams& params);
}  // namespace pagelab::on_cuda

namespace pagelab::on_simulator {
/// Runs the kernel that g++ compiled.
void ldmatrix_rows(const test::LdmatrixRowsParams& params);
}  // namespace pagelab::on_simulator

namespace pagelab::on_checked_simulator {
/// Runs the kernel that g++ compiled with every access checked.
void ldmatrix_rows(const test::LdmatrixRowsParams& params);
}  // namespace pagelab::on_checked_simulator
