/// \file
/// The first half of the error bound: how far one computed score may be from the exact one. The
/// second half, softmax and the sum over keys, is in softmax_bound.h.
#pragma once

#include <cstdint>
#include <optional>

#include "reference/contract/attention_step.h"
#include "reference/numerics/error_bound.h"

namespace pagelab {

/// What roundings in one precision amount to. Each unit roundoff includes the 2^-53 of the
/// reference in double, so that bounds hold between the two computed results.
struct Roundings {
  double unit;              ///< relative error of one operation, u
  double half_smallest;     ///< absolute error of one operation whose result is subnormal, η
  double largest;           ///< largest finite number
  double lowest_exp2;       ///< below this x, 2^x may be 0
  double exponential_ulps;  ///< Precision::exponential_ulps
  double confidence;        ///< Precision::confidence
  bool tensor_core;         ///< Precision::tensor_core_sums
  double least_operand;     ///< tensor cores take smaller operands for as large as this

  /// \param precision  types and confidence of an implementation
  explicit Roundings(const Precision& precision);

  /// The relative error of a product of `count` factors 1 + δ with |δ| ≤ u: γ(count).
  double gamma(double count) const;

  /// The relative error of a sum that tensor cores add up in so many steps of 16 products. They cut
  /// off, so errors go the same way and no confidence makes this smaller.
  double tensor_core_gamma(double num_steps) const;
};

/// The largest error of one step of a tensor core: in units of the sum of the magnitudes of its terms.
/// Each of 17 terms is cut to a multiple of 2^(E − 25), where 2^E is at most the largest term, and the
/// sum to 24 bits.
inline constexpr double kTensorCoreStep = 17 * 0x1p-25 + 0x1p-23;
/// Products that tensor cores add up at once.
inline constexpr double kProductsPerStep = 16.0;

/// An exact score and the largest error of a computed one.
struct BoundedScore {
  double value = 0.0;  ///< as the reference has it
  double error = 0.0;  ///< +∞ if the computation may overflow; 0 for infinities and NaN
};

/// What the scores of one query head have in common.
struct ScoreRule {
  double scale;                         ///< factor on the dot product
  std::optional<double> logit_softcap;  ///< soft cap
  std::optional<double> alibi_slope;    ///< of this head
  std::int64_t input_roundings;  ///< of a query and of a key element as they are read, summed
  double key_scale;              ///< k_scale of this head; 1 where the cache is not fp8
};

/// Steps 1 to 4 of the score: dot product, scale, soft cap, bias.
/// \param query      [head_size]
/// \param key        [head_size]
/// \param head_size  elements
/// \param distance   |query's position − key's position|
/// \param rule       of this head
/// \param roundings  of the implementation
BoundedScore bounded_score(const double* query,
                           const double* key,
                           std::int64_t head_size,
                           std::int64_t distance,
                           const ScoreRule& rule,
                           const Roundings& roundings);

}  // namespace pagelab
