/// \file
/// Random tiles for tensor-core instructions, by category: the kinds of numbers at which a model of the
/// hardware can be wrong. A category and a seed give the same bits everywhere, so a table need only
/// keep seeds and hashes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/simt/tensor_core.h"

namespace pagelab::test {

/// What the numbers of a tile are.
enum class MmaNumbers : std::uint8_t {
  kSpread,             ///< exponents within ± spread of 0, C's within twice that
  kAnyBits,            ///< every code alike: NaN, infinities and all
  kFiniteBits,         ///< every finite code alike
  kFewSpecials,        ///< ordinary, with an odd one of every special kind
  kFewInfinities,      ///< ordinary, with an odd infinity
  kManyZeros,          ///< nearly all +0 or −0
  kSubnormalOperands,  ///< half of A and B subnormal, the other half so large that both count
  kSubnormalC,         ///< C subnormal, products about as small
  kTinyC,              ///< C about the smallest normal number, products down to C's last place
  kZeroC,              ///< C zero, products around the smallest float32
  kBelowFloat,         ///< products below every float32, C subnormal or zero
  kCancelling,         ///< large products in pairs that cancel, small ones left
  kOverflowing,        ///< results and products around 2^128
};

/// A kind of tile.
struct MmaCategory {
  std::string name;    ///< "spread_20", "subnormal_c"
  MmaNumbers numbers;  ///< what is in it
  int spread = 0;      ///< of kSpread
};

/// All categories, ordinary ones first.
const std::vector<MmaCategory>& mma_categories();

/// What one instruction gets.
/// \tparam kDepth  16 or 8: m16n8k16 or m16n8k8
template <int kDepth>
struct MmaTile {
  std::uint16_t a[16][kDepth];  ///< A by rows
  std::uint16_t b[kDepth][8];   ///< B by rows
  float c[16][8];               ///< C by rows
};

/// The tile of a category that a seed gives.
template <int kDepth>
MmaTile<kDepth> mma_tile_of(const MmaCategory& category, simt::MmaInput input, std::uint64_t seed);

/// D by the vector form.
template <int kDepth>
void mma_tile(const MmaTile<kDepth>& tile, float (&d)[16][8], simt::MmaInput input);

/// One result by the specification.
template <int kDepth>
float result_by_the_rules(const MmaTile<kDepth>& tile,
                          int row,
                          int column,
                          simt::MmaInput input,
                          const simt::MmaRules& rules = {});

}  // namespace pagelab::test
