/// \file
/// The arithmetic of one tensor-core instruction, D = A · B + C on a tile of 16 × 8 results, with
/// the bits of an H200. It knows tiles only; which lane of a warp holds which element is the business
/// of gpu/device/mma.h.
///
/// Two forms with the same bits: `mma_by_the_rules` says step by step what the hardware does and is the
/// specification; `mma_m16n8k16` and `mma_m16n8k8` do the same with vector instructions, and with fewer of them
/// where a tile holds ordinary numbers (tensor_core_ordinary.h).
#pragma once

#include <climits>
#include <cstdint>

namespace pagelab::simt {

/// What the 16-bit elements of A and B are.
enum class MmaInput : std::uint8_t {
  kBFloat16,  ///< 1 sign, 8 exponent, 7 fraction bits
  kFloat16,   ///< 1 sign, 5 exponent, 10 fraction bits
};

/// "bf16" or "f16", as PTX names them.
const char* to_string(MmaInput input);

/// Where the generations of tensor cores differ. The defaults are Hopper's, each of them seen on an
/// H200 (tests/golden/h200/mma.txt); others exist to show what a difference does, and to find out what a
/// device does.
struct MmaRules {
  /// `lowest_exponent` where there is none.
  static constexpr int kNone = INT_MIN;

  int fraction_bits = 25;     ///< terms are cut to multiples of 2^(E − this)
  int products_per_sum = 16;  ///< products that are added at once; a longer k takes several sums
  /// Whether a subnormal C counts with the exponent of its leading bit instead of −126.
  bool c_is_normalised = false;
  /// E is at least this. Only products of bfloat16 numbers reach down there, so only they show it.
  int lowest_exponent = -133;
};

/// One result of the instruction: c + Σ a[k] · b[k], summed as the tensor cores do.
/// \param a      [depth] one row of A, as bits
/// \param b      [depth] one column of B, as bits
/// \param depth  products, 1 or more
/// \param c      the accumulator
/// \param input  what the bits of a and b mean
/// \param rules  of the generation
/// \source       measured on an H200; a published model is MMA-Sim (Xie et al. 2025,
///               arXiv 2511.10909)
float mma_by_the_rules(const std::uint16_t* a,
                       const std::uint16_t* b,
                       int depth,
                       float c,
                       MmaInput input,
                       const MmaRules& rules = {});

/// D = A · B + C on Hopper, `mma.sync.m16n8k16` with float32 accumulators. D may be C.
/// \param a      [16, 16] A by rows, as bits
/// \param b      [16, 8] B by rows, as bits
/// \param c      [16, 8] accumulators
/// \param d      [16, 8] results
/// \param input  what the bits of a and b mean
void mma_m16n8k16(const std::uint16_t (&a)[16][16],
                  const std::uint16_t (&b)[16][8],
                  const float (&c)[16][8],
                  float (&d)[16][8],
                  MmaInput input);

/// D = A · B + C on Hopper, `mma.sync.m16n8k8` with float32 accumulators. D may be C.
/// \param a      [16, 8] A by rows, as bits
/// \param b      [8, 8] B by rows, as bits
/// \param c      [16, 8] accumulators
/// \param d      [16, 8] results
/// \param input  what the bits of a and b mean
void mma_m16n8k8(const std::uint16_t (&a)[16][8],
                 const std::uint16_t (&b)[8][8],
                 const float (&c)[16][8],
                 float (&d)[16][8],
                 MmaInput input);

}  // namespace pagelab::simt
