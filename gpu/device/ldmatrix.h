/// \file
/// `ldmatrix`: a warp loads one, two or four matrices of 8 × 8 16-bit elements from shared memory, in
/// the shape of the fragments that `mma` wants (gpu/device/mma.h). A row is 16 bytes, and each lane gives
/// the address of one row: lanes 0 to 7 those of matrix 0, lanes 8 to 15 those of matrix 1, and so on. What
/// the other lanes give is not looked at. Rows need not lie next to each other.
///
///     lane = 4 · group + pair
///     r[m] of ldmatrix         elements (group, 2·pair) and (group, 2·pair + 1) of matrix m
///     r[m] of ldmatrix…trans   elements (2·pair, group) and (2·pair + 1, group): of its transpose
///
/// The one of lower index is in the lower half of the register. A tile of A, 16 × 16 by rows, is one x4:
/// matrices upper left, lower left, upper right, lower right. One of B stored by columns (each column's k
/// next to each other) is an x2 of its upper and lower half; stored by rows it is an x2 with trans.
///
/// Abstracted in the simulator: a lane reads its row when it comes to the word, not when all have come.
///
/// Source: PTX ISA, "Warp-level matrix load instruction: ldmatrix".
#pragma once

#include <cstdint>

#include "gpu/device/keywords.h"
#include "reference/numerics/target.h"

#if !defined(__CUDACC__)
#include "simulator/simt/not_hooked.h"
#include "simulator/simt/warp_collective.h"
#include "simulator/simt/warp_matrix.h"
#endif

namespace pagelab {
inline namespace PAGELAB_TARGET {

#if defined(__CUDACC__)

// On the GPU: PTX.
#define PAGELAB_LDMATRIX_X1(name, trans)                                                     \
  __device__ __forceinline__ void name(std::uint32_t(&r)[1], const void* row) {              \
    const std::uint32_t address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row)); \
    asm volatile("ldmatrix.sync.aligned.m8n8.x1" trans ".shared.b16 {%0}, [%1];"             \
                 : "=r"(r[0])                                                                \
                 : "r"(address)                                                              \
                 : "memory");                                                                \
  }
#define PAGELAB_LDMATRIX_X2(name, trans)                                                     \
  __device__ __forceinline__ void name(std::uint32_t(&r)[2], const void* row) {              \
    const std::uint32_t address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row)); \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2" trans ".shared.b16 {%0, %1}, [%2];"         \
                 : "=r"(r[0]), "=r"(r[1])                                                    \
                 : "r"(address)                                                              \
                 : "memory");                                                                \
  }
#define PAGELAB_LDMATRIX_X4(name, trans)                                                     \
  __device__ __forceinline__ void name(std::uint32_t(&r)[4], const void* row) {              \
    const std::uint32_t address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row)); \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" trans ".shared.b16 {%0, %1, %2, %3}, [%4];" \
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                            \
                 : "r"(address)                                                              \
                 : "memory");                                                                \
  }
PAGELAB_LDMATRIX_X1(ldmatrix_x1, "")
PAGELAB_LDMATRIX_X2(ldmatrix_x2, "")
PAGELAB_LDMATRIX_X4(ldmatrix_x4, "")
PAGELAB_LDMATRIX_X1(ldmatrix_x1_trans, ".trans")
PAGELAB_LDMATRIX_X2(ldmatrix_x2_trans, ".trans")
PAGELAB_LDMATRIX_X4(ldmatrix_x4_trans, ".trans")
#undef PAGELAB_LDMATRIX_X1
#undef PAGELAB_LDMATRIX_X2
#undef PAGELAB_LDMATRIX_X4

#else

/// What one lane takes away from an ldmatrix.
/// \tparam kMatrices  1, 2 or 4
template <int kMatrices>
struct MatrixRegisters {
  std::uint32_t r[kMatrices];  ///< a register a matrix
};

/// What the warp does when all lanes have come with their rows: each takes its elements.
/// \tparam kMatrices   1, 2 or 4
/// \tparam kTransposed whether it takes those of the transposed matrices
template <int kMatrices, bool kTransposed>
struct LdmatrixOfWarp {
  /// \param rows     [32] of which the first 8 · kMatrices count
  /// \param results  [32] where each lane's registers go
  [[PAGELAB_NOT_HOOKED]] void operator()(const simt::MatrixRow* const (&rows)[32],
                                         MatrixRegisters<kMatrices>* const (&results)[32]) const {
    for (int lane = 0; lane < 32; ++lane) {
      const int group = lane / 4;
      const int pair = lane % 4;
      for (int matrix = 0; matrix < kMatrices; ++matrix) {
        const simt::MatrixRow* const* matrix_rows = rows + 8 * matrix;
        std::uint32_t lower = 0;
        std::uint32_t upper = 0;
        if (kTransposed) {
          lower = matrix_rows[2 * pair]->elements[group];
          upper = matrix_rows[2 * pair + 1]->elements[group];
        } else {
          lower = matrix_rows[group]->elements[2 * pair];
          upper = matrix_rows[group]->elements[2 * pair + 1];
        }
        results[lane]->r[matrix] = lower | upper << 16;
      }
    }
  }
};

/// One lane's part of an ldmatrix: bring a row, wait for the others, take the registers.
/// \tparam kMatrices   1, 2 or 4
/// \tparam kTransposed whether the matrices are transposed
/// \param word         PTX's name for it
/// \param r            registers
/// \param row          this lane's row
/// \param pc           where the kernel called
template <int kMatrices, bool kTransposed>
[[gnu::always_inline]] inline void simulated_ldmatrix(const char* word,
                                                      std::uint32_t (&r)[kMatrices],
                                                      const void* row,
                                                      const void* pc) {
  simt::require_whole_warp(word, pc);
  simt::MatrixRow brought;
  const bool is_looked_at = simt::running_thread() % 32 < 8 * kMatrices;
  if (is_looked_at) brought = simt::read_matrix_row(word, row, pc);
  const MatrixRegisters<kMatrices> result =
      simt::together<simt::MatrixRow, MatrixRegisters<kMatrices> >(
          word, 0xffffffffu, brought, LdmatrixOfWarp<kMatrices, kTransposed>{}, pc);
  for (int matrix = 0; matrix < kMatrices; ++matrix) r[matrix] = result.r[matrix];
}

/// Loads one matrix. All 32 lanes of a warp call it together.
/// \param r    this lane's elements
/// \param row  lanes 0 to 7: the rows, in shared memory, at multiples of 16
[[gnu::noinline, PAGELAB_NOT_HOOKED]] inline void ldmatrix_x1(std::uint32_t (&r)[1],
                                                              const void* row) {
  simulated_ldmatrix<1, false>("ldmatrix.x1", r, row, __builtin_return_address(0));
}

/// Loads two matrices.
/// \param r    this lane's elements of each
/// \param row  lanes 0 to 15: the rows, in shared memory, at multiples of 16
[[gnu::noinline, PAGELAB_NOT_HOOKED]] inline void ldmatrix_x2(std::uint32_t (&r)[2],
                                                              const void* row) {
  simulated_ldmatrix<2, false>("ldmatrix.x2", r, row, __builtin_return_address(0));
}

/// Loads four matrices.
/// \param r    this lane's elements of each
/// \param row  lanes 0 to 31: the rows, in shared memory, at multiples of 16
[[gnu::noinline, PAGELAB_NOT_HOOKED]] inline void ldmatrix_x4(std::uint32_t (&r)[4],
                                                              const void* row) {
  simulated_ldmatrix<4, false>("ldmatrix.x4", r, row, __builtin_return_address(0));
}

/// Loads one matrix and transposes it. All 32 lanes of a warp call it together.
/// \param r    this lane's elements
/// \param row  lanes 0 to 7: the rows, in shared memory, at multiples of 16
[[gnu::noinline, PAGELAB_NOT_HOOKED]] inline void ldmatrix_x1_trans(std::uint32_t (&r)[1],
                                                                    const void* row) {
  simulated_ldmatrix<1, true>("ldmatrix.x1.trans", r, row, __builtin_return_address(0));
}

/// Loads two matrices and transposes each. All 32 lanes of a warp call it together.
/// \param r    this lane's elements
/// \param row  lanes 0 to 15: the rows, in shared memory, at multiples of 16
[[gnu::noinline, PAGELAB_NOT_HOOKED]] inline void ldmatrix_x2_trans(std::uint32_t (&r)[2],
                                                                    const void* row) {
  simulated_ldmatrix<2, true>("ldmatrix.x2.trans", r, row, __builtin_return_address(0));
}

/// Loads four matrices and transposes each. All 32 lanes of a warp call it together.
/// \param r    this lane's elements
/// \param row  lanes 0 to 31: the rows, in shared memory, at multiples of 16
[[gnu::noinline, PAGELAB_NOT_HOOKED]] inline void ldmatrix_x4_trans(std::uint32_t (&r)[4],
                                                                    const void* row) {
  simulated_ldmatrix<4, true>("ldmatrix.x4.trans", r, row, __builtin_return_address(0));
}

#endif

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
