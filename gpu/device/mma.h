/// \file
/// `mma.sync`: the 32 lanes of a warp together multiply two small matrices on the tensor cores,
/// D = A · B + C with A and B of 16-bit floats, C and D of float32. Each lane holds a few elements of
/// each matrix in registers, its fragments; a register holds two 16-bit elements, the one of lower index
/// in its lower half.
///
///     lane = 4 · group + pair, group = 0 … 7, pair = 0 … 3
///
///     A, 16 × 16            columns 2·pair, 2·pair + 1    columns 8 + 2·pair, 9 + 2·pair
///       row group                    a[0]                          a[2]
///       row group + 8                a[1]                          a[3]
///
///     B, 16 × 8                 column group              C and D, 16 × 8    columns 2·pair, 2·pair + 1
///       rows 2·pair, + 1            b[0]                    row group              c[0], c[1]
///       rows 8 + 2·pair, + 1        b[1]                    row group + 8          c[2], c[3]
///
///     lane of A's elements:         column 0  1  2  3  4  5  6  7
///                             row 0        0  0  1  1  2  2  3  3
///                             row 1        4  4  5  5  6  6  7  7    … and so down to row 7, lanes 28 to 31
///
/// m16n8k8 is the left half: A has a[0] and a[1], B has b[0]. A fragment of C has the shape of half a
/// fragment of A, which is how attention feeds its probabilities to the second product. What bits come
/// out is said in simulator/simt/tensor_core.h.
///
/// Abstracted in the simulator: time, and the registers themselves.
///
/// Source: PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type", and for mma.m16n8k8.
#pragma once

#include <cstdint>
#include <cstring>

#include "gpu/device/keywords.h"
#include "reference/numerics/target.h"

#if !defined(__CUDACC__)
#include "simulator/simt/not_hooked.h"
#include "simulator/simt/tensor_core.h"
#include "simulator/simt/warp_collective.h"
#include "simulator/simt/warp_matrix.h"
#endif

namespace pagelab {
inline namespace PAGELAB_TARGET {

#if defined(__CUDACC__)

// On the GPU: PTX.
#define PAGELAB_MMA_K16(name, type)                                                             \
  __device__ __forceinline__ void name(float(&d)[4], const std::uint32_t(&a)[4],                \
                                       const std::uint32_t(&b)[2], const float(&c)[4]) {        \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type                         \
                 ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"     \
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                               \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), \
                   "f"(c[1]), "f"(c[2]), "f"(c[3]));                                            \
  }
#define PAGELAB_MMA_K8(name, type)                                                               \
  __device__ __forceinline__ void name(float(&d)[4], const std::uint32_t(&a)[2],                 \
                                       const std::uint32_t(&b)[1], const float(&c)[4]) {         \
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32." type "." type                           \
                 ".f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"                     \
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                                \
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3])); \
  }
PAGELAB_MMA_K16(mma_m16n8k16_bf16, "bf16")
PAGELAB_MMA_K16(mma_m16n8k16_f16, "f16")
PAGELAB_MMA_K8(mma_m16n8k8_bf16, "bf16")
PAGELAB_MMA_K8(mma_m16n8k8_f16, "f16")
#undef PAGELAB_MMA_K16
#undef PAGELAB_MMA_K8

#else

/// What one lane brings to an mma: where its fragments are.
struct MmaFragments {
  const std::uint32_t* a;  ///< [k / 4] registers of A
  const std::uint32_t* b;  ///< [k / 8] registers of B
  const float* c;          ///< [4] of C
};

/// What one lane takes away.
struct MmaResult {
  float d[4];  ///< of D
};

/// What the warp does when all lanes have come: the fragments become matrices, those are multiplied, and
/// each lane takes its elements of D.
/// \tparam kDepth  16 or 8, the k of m16n8k16 and m16n8k8
template <int kDepth>
struct MmaOfWarp {
  simt::MmaInput input;  ///< what A and B hold

  /// \param lanes    [32] fragments
  /// \param results  [32] where each lane's elements of D go
  [[PAGELAB_NOT_HOOKED]] void operator()(const MmaFragments* const (&lanes)[32],
                                         MmaResult* const (&results)[32]) const {
    std::uint16_t a[16][kDepth];
    std::uint16_t b[kDepth][8];
    float c[16][8];
    for (int lane = 0; lane < 32; ++lane) {
      const MmaFragments& fragments = *lanes[lane];
      const int group = lane / 4;
      const int pair = lane % 4;
      for (int half = 0; half < kDepth / 8; ++half) {
        const int k = 8 * half + 2 * pair;
        // Two elements of a row of A lie next to each other, as they do in their register.
        std::memcpy(&a[group][k], &fragments.a[2 * half], sizeof(std::uint32_t));
        std::memcpy(&a[group + 8][k], &fragments.a[2 * half + 1], sizeof(std::uint32_t));
        b[k][group] = static_cast<std::uint16_t>(fragments.b[half]);
        b[k + 1][group] = static_cast<std::uint16_t>(fragments.b[half] >> 16);
      }
      std::memcpy(&c[group][2 * pair], &fragments.c[0], 2 * sizeof(float));
      std::memcpy(&c[group + 8][2 * pair], &fragments.c[2], 2 * sizeof(float));
    }
    float d[16][8];
    if constexpr (kDepth == 16) {
      simt::mma_m16n8k16(a, b, c, d, input);
    } else {
      simt::mma_m16n8k8(a, b, c, d, input);
    }
    for (int lane = 0; lane < 32; ++lane) {
      const int group = lane / 4;
      const int pair = lane % 4;
      std::memcpy(&results[lane]->d[0], &d[group][2 * pair], 2 * sizeof(float));
      std::memcpy(&results[lane]->d[2], &d[group + 8][2 * pair], 2 * sizeof(float));
    }
  }
};

/// One lane's part of an mma: bring the fragments, wait for the others, take the results.
/// \tparam kDepth  16 or 8
/// \param word     PTX's name for it
/// \param input    what A and B hold
/// \param d        results, may be c
/// \param a        fragment of A
/// \param b        fragment of B
/// \param c        fragment of C
/// \param pc       where the kernel called
template <int kDepth>
[[gnu::always_inline]] inline void simulated_mma(const char* word,
                                                 simt::MmaInput input,
                                                 float (&d)[4],
                                                 const std::uint32_t (&a)[kDepth / 4],
                                                 const std::uint32_t (&b)[kDepth / 8],
                                                 const float (&c)[4],
                                                 const void* pc) {
  simt::require_whole_warp(word, pc);
  const MmaFragments fragments = {a, b, c};
  const MmaResult result = simt::together<MmaFragments, MmaResult>(word, 0xffffffffu, fragments,
                                                                   MmaOfWarp<kDepth>{input}, pc);
  std::memcpy(d, result.d, sizeof result.d);
}

/// D = A · B + C for A of 16 × 16 and B of 16 × 8 bfloat16 numbers. All 32 lanes of a warp call it
/// together.
/// \param d  this lane's elements of D; may be c
/// \param a  this lane's elements of A, two a register
/// \param b  this lane's elements of B, two a register
/// \param c  this lane's elements of C
[[gnu::noinline, PAGELAB_NOT_HOOKED]] inline void mma_m16n8k16_bf16(float (&d)[4],
                                                                    const std::uint32_t (&a)[4],
                                                                    const std::uint32_t (&b)[2],
                                                                    const float (&c)[4]) {
  simulated_mma<16>("mma.m16n8k16.bf16", simt::MmaInput::kBFloat16, d, a, b, c,
                    __builtin_return_address(0));
}

/// The same for float16 numbers.
/// \param d  this lane's elements of D; may be c
/// \param a  this lane's elements of A, two a register
/// \param b  this lane's elements of B, two a register
/// \param c  this lane's elements of C
[[gnu::noinline, PAGELAB_NOT_HOOKED]] inline void mma_m16n8k16_f16(float (&d)[4],
                                                                   const std::uint32_t (&a)[4],
                                                                   const std::uint32_t (&b)[2],
                                                                   const float (&c)[4]) {
  simulated_mma<16>("mma.m16n8k16.f16", simt::MmaInput::kFloat16, d, a, b, c,
                    __builtin_return_address(0));
}

/// D = A · B + C for A of 16 × 8 and B of 8 × 8 bfloat16 numbers. All 32 lanes of a warp call it together.
/// \param d  this lane's elements of D; may be c
/// \param a  this lane's elements of A, two a register
/// \param b  this lane's elements of B, two a register
/// \param c  this lane's elements of C
[[gnu::noinline, PAGELAB_NOT_HOOKED]] inline void mma_m16n8k8_bf16(float (&d)[4],
                                                                   const std::uint32_t (&a)[2],
                                                                   const std::uint32_t (&b)[1],
                                                                   const float (&c)[4]) {
  simulated_mma<8>("mma.m16n8k8.bf16", simt::MmaInput::kBFloat16, d, a, b, c,
                   __builtin_return_address(0));
}

/// The same for float16 numbers.
/// \param d  this lane's elements of D; may be c
/// \param a  this lane's elements of A, two a register
/// \param b  this lane's elements of B, two a register
/// \param c  this lane's elements of C
[[gnu::noinline, PAGELAB_NOT_HOOKED]] inline void mma_m16n8k8_f16(float (&d)[4],
                                                                  const std::uint32_t (&a)[2],
                                                                  const std::uint32_t (&b)[1],
                                                                  const float (&c)[4]) {
  simulated_mma<8>("mma.m16n8k8.f16", simt::MmaInput::kFloat16, d, a, b, c,
                   __builtin_return_address(0));
}

#endif

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
