/// \file
/// Greedy decoding: the next token is the one with the largest logit.
#pragma once

#include <cstdint>
#include <limits>

#include "reference/model/row_matrix.h"

namespace pagelab {

/// The chosen token, and how clear the choice was.
struct GreedyChoice {
  std::int32_t token_id;  ///< the first of those with the largest logit
  /// The largest logit less the second largest: logits that are all wrong by less than half of it
  /// give the same token. NaN if a logit is NaN.
  double top2_gap;
};

/// Picks the largest logit.
/// \param logits  [vocab_size], two or more
inline GreedyChoice greedy_choice(const RowVector& logits) {
  constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
  Eigen::Index best_idx = 0;
  double best = kMinusInfinity;
  double second = kMinusInfinity;
  for (Eigen::Index token_id = 0; token_id < logits.size(); ++token_id) {
    const double logit = logits(token_id);
    if (logit != logit) return {static_cast<std::int32_t>(token_id), logit};
    if (logit > best) {
      second = best;
      best = logit;
      best_idx = token_id;
    } else if (logit > second) {
      second = logit;
    }
  }
  return {static_cast<std::int32_t>(best_idx), best - second};
}

}  // namespace pagelab
