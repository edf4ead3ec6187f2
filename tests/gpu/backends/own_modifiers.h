/// \file
/// Modifiers that a user of the library may write for FLEX_ATTENTION, here a mask of documents, a bias by
/// relative position, and heads that look back less far than others. The host needs their masks as well, so the
/// structs are in a header.
#pragma once

#include <cstdint>

#include "gpu/kernels/flex/modifiers.h"
#include "gpu/kernels/flex/params.h"
#include "reference/numerics/target.h"

namespace pagelab {

/// The shortest distance that LocalHeads hides from odd heads.
inline constexpr std::int64_t kLocalDistance = 3;

inline namespace PAGELAB_TARGET {

/// Several documents in one sequence: a token sees its own document alone.
struct SameDocument {
  const std::int32_t* document_of;  ///< [longest sequence] document of each position

  /// Whether query and key are of one document.
  PAGELAB_HD bool operator()(const FlexPair& pair) const {
    return document_of[pair.query_position] == document_of[pair.key_position];
  }
};

/// A learned number for each head and distance, as in T5.
struct RelativeBias {
  const float* bias;           ///< [num_query_heads, num_distances]
  std::int64_t num_distances;  ///< more than any distance of a causal step

  /// The score and the bias of its distance.
  PAGELAB_HD float operator()(float score, const FlexPair& pair) const {
    const std::int64_t distance = pair.query_position - pair.key_position;
    return score + bias[pair.head_idx * num_distances + distance];
  }
};

/// Even heads see all that the contract shows, odd heads the last kLocalDistance positions of it.
struct LocalHeads {
  /// Whether the query sees the key.
  PAGELAB_HD bool operator()(const FlexPair& pair) const {
    const bool is_local = pair.head_idx % 2 == 1;
    return !is_local || pair.query_position - pair.key_position < kLocalDistance;
  }
};

}  // namespace PAGELAB_TARGET

namespace test {
/// The launchers of one target; float32 caches.
struct OwnModifiers {
  /// SameDocument; document_of lies on the device.
  void (*same_document)(const FlexAttentionParams& attention, const std::int32_t* document_of);
  /// RelativeBias; bias lies on the device.
  void (*relative_bias)(const FlexAttentionParams& attention,
                        const float* bias,
                        std::int64_t num_distances);
  /// LocalHeads.
  void (*local_heads)(const FlexAttentionParams& attention);
};
}  // namespace test

namespace on_cuda {
/// Compiled by nvcc.
test::OwnModifiers own_modifiers();
}  // namespace on_cuda
namespace on_simulator {
/// Compiled by g++.
test::OwnModifiers own_modifiers();
}  // namespace on_simulator
namespace on_checked_simulator {
/// Compiled by g++, every access checked.
test::OwnModifiers own_modifiers();
}  // namespace on_checked_simulator

}  // namespace pagelab
