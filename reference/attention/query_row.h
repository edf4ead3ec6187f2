/// \file
/// One query token of one head: what attention does with it before and beside the softmax. The
/// contiguous and the paged form share this and nothing else; where keys and values lie is theirs.
/// All arithmetic is in the canonical order: chains of fma over increasing index (docs: numerics).
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "reference/attention/variants.h"
#include "reference/cache/cache_element.h"
#include "reference/contract/attention_step.h"
#include "reference/numerics/exact_math.h"
#include "reference/numerics/float_formats.h"

namespace pagelab {

/// A row of numbers in the precision of the computation.
template <typename Real>
using RowVector = Eigen::Matrix<Real, 1, Eigen::Dynamic>;

/// Minus infinity: the score of no key, the LSE of an empty set.
template <typename Real>
inline constexpr Real kMinusInfinity = -std::numeric_limits<Real>::infinity();

/// One query token of one head, with the options of its head, as Real numbers.
/// \tparam Real  float or double
template <typename Real>
struct QueryRow {
  RowVector<Real> query;                      ///< [head_size]
  const AttentionVariant* variant = nullptr;  ///< the options; outlives the row
  std::int64_t req_idx = 0;                   ///< its request
  std::int64_t position = 0;  ///< in its request; negative where a query exceeds its sequence
  Real scale = 1;             ///< factor on the scores
  Real softcap = 0;           ///< where variant->logit_softcap is set
  Real alibi_slope = 0;       ///< where variant->alibi_slopes are given
  Real sink = kMinusInfinity<Real>;  ///< −∞ where there is none

  /// Whether this query sees the key at a position of its request.
  bool sees(std::int64_t key_position) const {
    if (variant->attn_type == AttnType::kEncoderDecoder) return true;  // no common positions
    return is_visible_by_rule(variant->visibility, position, key_position) ||
           is_visible_by_prefix_range(variant->mm_prefix_ranges.data(),
                                      static_cast<std::int64_t>(variant->mm_prefix_ranges.size()),
                                      req_idx, position, key_position);
  }

  /// Scale, then soft cap, then bias.
  /// \param dot           query · key
  /// \param key_position  where the key is in its request
  Real score(Real dot, std::int64_t key_position) const {
    Real s = dot * scale;
    if (variant->logit_softcap) {
      s = softcap * exact_tanh(s / softcap);
    }
    if (!variant->alibi_slopes.empty()) {
      const Real distance = static_cast<Real>(std::abs(position - key_position));
      const Real bias = -alibi_slope * distance;
      s = s + bias;
    }
    return s;
  }
};

/// The row of one token and head.
/// \param query      [T, num_query_heads, head_size], any activation dtype
/// \param token_idx  row of query
/// \param head_idx   query head
/// \param variant    must outlive the result
/// \param req_idx    the token's request
/// \param position   the token's position in its request
template <typename Real>
QueryRow<Real> query_row(const Tensor& query,
                         std::int64_t token_idx,
                         std::int64_t head_idx,
                         const AttentionVariant& variant,
                         std::int64_t req_idx,
                         std::int64_t position);

/// query · key, in increasing order of the elements, each product and sum with one rounding.
/// \param query    [head_size]
/// \param key      [head_size] as stored
/// \param k_scale  of its head, for fp8
template <typename Real, typename Stored>
inline Real dot(const RowVector<Real>& query, const Stored* key, float k_scale) {
  Real sum = 0;
  for (Eigen::Index i = 0; i < query.size(); ++i) {
    const Real key_element = cache_value<Real>(key[i], k_scale);
    sum = fused_multiply_add(query[i], key_element, sum);
  }
  return sum;
}

/// acc + p · value, element by element, each with one rounding.
/// \param p        the key's weight, not yet normalised
/// \param value    [head_size_v] as stored
/// \param v_scale  of its head, for fp8
/// \param acc      [head_size_v], changed
template <typename Real, typename Stored>
inline void add_weighted(Real p, const Stored* value, float v_scale, RowVector<Real>& acc) {
  for (Eigen::Index d = 0; d < acc.size(); ++d) {
    const Real value_element = cache_value<Real>(value[d], v_scale);
    acc[d] = fused_multiply_add(p, value_element, acc[d]);
  }
}

/// e^(score − m), by the exponential that every target shares.
template <typename Real>
inline Real softmax_weight(Real score, Real m) {
  const Real below_maximum = score - m;
  return exact_exp2(below_maximum * std::numbers::log2e_v<Real>);
}

/// The greater of two scores; a NaN score does not become the maximum.
template <typename Real>
inline Real larger(Real score, Real m) {
  return score > m ? score : m;
}

}  // namespace pagelab
