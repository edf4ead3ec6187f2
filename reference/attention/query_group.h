/// \file
/// The query heads of one token that share a KV head, and what attention does with them before and
/// beside the softmax. They see the same keys and values, so they go through them together: each is
/// fetched once. The contiguous and the paged form share this; where keys and values lie is theirs.
/// All arithmetic is in the canonical order: chains over increasing index, fma where it says so.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <vector>

#include "reference/attention/variants.h"
#include "reference/contract/attention_step.h"
#include "reference/numerics/exact_math.h"
#include "reference/numerics/float_formats.h"

namespace pagelab {

/// A row of numbers in the precision of the computation.
template <typename Real>
using RowVector = Eigen::Matrix<Real, 1, Eigen::Dynamic>;

/// A matrix whose rows lie one after the other.
template <typename Real>
using RowMatrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Minus infinity: the score of no key, the LSE of an empty set.
template <typename Real>
inline constexpr Real kMinusInfinity = -std::numeric_limits<Real>::infinity();

/// One query head of the token, with the options of the head, as Real numbers.
/// \tparam Real  float or double
template <typename Real>
struct QueryHead {
  RowVector<Real> query;             ///< [head_size]
  Real alibi_slope = 0;              ///< where slopes are given
  Real sink = kMinusInfinity<Real>;  ///< −∞ where there is none
};

/// The query heads of one token that share a KV head, and their softmax so far.
/// \tparam Real  float or double
template <typename Real>
struct QueryGroup {
  const AttentionVariant* variant = nullptr;  ///< the options; outlives the group
  std::int64_t req_idx = 0;                   ///< the token's request
  std::int64_t position = 0;  ///< in its request; negative where a query exceeds its sequence
  Real scale = 1;             ///< factor on the scores
  Real softcap = 0;           ///< where variant->logit_softcap is set
  std::vector<QueryHead<Real>> heads;  ///< [group_size]

  RowMatrix<Real> scores;             ///< [group_size, seq_len], set for visible keys
  std::int64_t num_visible_keys = 0;  ///< the same for all heads
  RowVector<Real> m;                  ///< [group_size] maximum of the scores, and of the sink
  RowVector<Real> l;                  ///< [group_size] sum of the weights
  RowMatrix<Real> acc;                ///< [group_size, head_size_v] sum of the weighted values

  /// Query heads that share the KV head.
  std::int64_t size() const { return static_cast<std::int64_t>(heads.size()); }

  /// Whether these queries see the key at a position of their request.
  bool sees(std::int64_t key_position) const {
    if (variant->attn_type == AttnType::kEncoderDecoder) return true;  // no common positions
    return is_visible_by_rule(variant->visibility, position, key_position) ||
           is_visible_by_prefix_range(variant->mm_prefix_ranges.data(),
                                      static_cast<std::int64_t>(variant->mm_prefix_ranges.size()),
                                      req_idx, position, key_position);
  }

  /// Scale, then soft cap, then bias.
  /// \param head          one of the group's
  /// \param dot           query · key
  /// \param key_position  where the key is in its request
  Real score(const QueryHead<Real>& head, Real dot, std::int64_t key_position) const {
    Real s = dot * scale;
    if (variant->logit_softcap) {
      s = softcap * exact_tanh(s / softcap);
    }
    if (!variant->alibi_slopes.empty()) {
      const Real distance = static_cast<Real>(std::abs(position - key_position));
      const Real bias = -head.alibi_slope * distance;
      s = s + bias;
    }
    return s;
  }
};

/// The group of one token and KV head, before it has seen a key.
/// \param query        [T, num_query_heads, head_size], any activation dtype
/// \param token_idx    row of query
/// \param first_head   the group's first query head
/// \param group_size   query heads in it
/// \param variant      must outlive the result
/// \param req_idx      the token's request
/// \param position     the token's position in its request
/// \param seq_len      keys of the request
/// \param head_size_v  elements of a value
template <typename Real>
QueryGroup<Real> query_group(const Tensor& query,
                             std::int64_t token_idx,
                             std::int64_t first_head,
                             std::int64_t group_size,
                             const AttentionVariant& variant,
                             std::int64_t req_idx,
                             std::int64_t position,
                             std::int64_t seq_len,
                             std::int64_t head_size_v);

/// query · key, in increasing order of the elements, each product and sum with one rounding.
/// Defined in one place and called, so that contiguous and paged attention run the same code.
/// \tparam Stored  any float storage type
/// \param query    [head_size]
/// \param key      [head_size] as stored
/// \param k_scale  of its head, for fp8
template <typename Real, typename Stored>
Real dot(const RowVector<Real>& query, const Stored* key, float k_scale);

/// acc + p · value, element by element, each with one rounding.
/// \tparam Stored      any float storage type
/// \param p            the key's weight, not yet normalised
/// \param value        [head_size_v] as stored
/// \param v_scale      of its head, for fp8
/// \param head_size_v  elements of value and acc
/// \param acc          [head_size_v], changed
template <typename Real, typename Stored>
void add_weighted(Real p, const Stored* value, float v_scale, std::int64_t head_size_v, Real* acc);

/// Asks the processor for a row of keys or values that will be read soon. It guesses well what comes
/// next in an array, but not where the next block or the next row of the same head lies; the caller
/// knows. Without it the paged form waits for memory: 15 to 20 % of a decode step at context 1024.
/// \param row   first element
/// \param size  elements
template <typename Stored>
inline void prefetch(const Stored* row, std::int64_t size) {
  constexpr std::int64_t kBytesPerLine = 64;  // of an x86-64 processor's caches
  constexpr std::int64_t kElementsPerLine = kBytesPerLine / sizeof(Stored);
  for (std::int64_t i = 0; i < size; i += kElementsPerLine) __builtin_prefetch(row + i);
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
