/// \file
/// Modifiers: what is done to a score, and which pairs of a query and a key there are, as small structs that
/// are called. A kernel is compiled with a pair of them; the host calls the same mask to find out which blocks
/// need no visit. Those of the contract are here; anyone may add others to them:
///
///     struct SameDocument {                    // mask_mod
///       const std::int32_t* document_of;       // [tokens of all documents], on the host or on the device
///       PAGELAB_HD bool operator()(const FlexPair& pair) const {
///         return document_of[pair.key_position] == document_of[pair.query_position];
///       }
///     };
///
/// tests/gpu/backends/own_modifiers.h has whole examples.
#pragma once

#include <cstdint>

#include "gpu/kernels/paged_attention/params.h"
#include "reference/attention/variants.h"
#include "reference/numerics/exact_math.h"
#include "reference/numerics/target.h"

namespace pagelab {

/// A query and a key of one request, by their positions in it. Which physical block the key lies in, a modifier
/// does not see.
struct FlexPair {
  std::int64_t req_idx = 0;         ///< request
  std::int64_t head_idx = 0;        ///< query head
  std::int64_t query_position = 0;  ///< a in vLLM; negative where a query exceeds its sequence
  std::int64_t key_position = 0;    ///< j in vLLM; 0 … seq_len − 1
};

inline namespace PAGELAB_TARGET {

/// The mask of the contract: causality and window, or a prefix-LM range that holds both.
struct VariantMask {
  VisibilityRule visibility;                        ///< causality and window
  const MmPrefixRange* mm_prefix_ranges = nullptr;  ///< [num_mm_prefix_ranges]
  std::int64_t num_mm_prefix_ranges = 0;            ///< of all requests

  /// Whether the query sees the key.
  PAGELAB_HD bool operator()(const FlexPair& pair) const {
    return is_visible_by_rule(visibility, pair.query_position, pair.key_position) ||
           is_visible_by_prefix_range(mm_prefix_ranges, num_mm_prefix_ranges, pair.req_idx,
                                      pair.query_position, pair.key_position);
  }
};

/// The scores of the contract: soft cap, then ALiBi.
struct VariantScore {
  bool has_softcap = false;             ///< whether logit_softcap counts
  float logit_softcap = 0.0f;           ///< cap · tanh(score / cap)
  const float* alibi_slopes = nullptr;  ///< [num_query_heads], or nullptr

  /// The score that takes part in the softmax.
  /// \param score  scale · query · key
  /// \param pair   of which query and key
  PAGELAB_HD float operator()(float score, const FlexPair& pair) const {
    if (has_softcap) score = logit_softcap * exact_tanh(score / logit_softcap);
    if (alibi_slopes != nullptr) {
      const std::int64_t difference = pair.query_position - pair.key_position;
      const float distance = static_cast<float>(difference < 0 ? -difference : difference);
      const float bias = -alibi_slopes[pair.head_idx] * distance;
      score = score + bias;
    }
    return score;
  }
};

/// No modifier of scores: the score as it is.
struct SameScore {
  /// \copybrief SameScore
  PAGELAB_HD float operator()(float score, const FlexPair&) const { return score; }
};

/// No mask: every query sees every key of its request.
struct EveryKey {
  /// \copybrief EveryKey
  PAGELAB_HD bool operator()(const FlexPair&) const { return true; }
};

/// Two score_mods, one after the other.
template <typename First, typename Second>
struct ScoreThen {
  First first;    ///< gets scale · query · key
  Second second;  ///< gets what the first one made of it

  /// The score that takes part in the softmax.
  PAGELAB_HD float operator()(float score, const FlexPair& pair) const {
    return second(first(score, pair), pair);
  }
};

/// Two masks: what both show. PyTorch's and_masks.
template <typename First, typename Second>
struct AndMasks {
  First first;    ///< asked first
  Second second;  ///< asked where the first one shows the key

  /// Whether the query sees the key.
  PAGELAB_HD bool operator()(const FlexPair& pair) const { return first(pair) && second(pair); }
};

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
