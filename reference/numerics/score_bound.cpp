#include "reference/numerics/score_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/numerics/exact_math.h"

namespace pagelab {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// exact_tanh is better than this; the reference's tanh in double is good to 2 ulp.
// Source: glibc manual, "Known Maximum Errors in Math Functions".
constexpr double kTanhUlps = std::max(kExactTanhUlps, 2.0);

// Steps 1 and 2 where tensor cores add up the products, which are exact, 16 at a time. An operand that
// is subnormal counts with the exponent of the smallest normal number. Then the scale as a number, the
// multiplication and, for fp8 keys, the k_scale.
BoundedScore on_tensor_cores(const double* query,
                             const double* key,
                             std::int64_t head_size,
                             const ScoreRule& rule,
                             const Roundings& roundings,
                             BoundedScore score) {
  double sum_of_magnitudes = 0.0;
  for (std::int64_t i = 0; i < head_size; ++i) {
    if (query[i] == 0.0 || key[i] == 0.0) continue;  // a zero is no term
    const double least_key = roundings.least_operand * rule.key_scale;
    sum_of_magnitudes += std::max(std::fabs(query[i]), roundings.least_operand) *
                         std::max(std::fabs(key[i]), least_key);
  }
  const double num_steps = std::ceil(static_cast<double>(head_size) / kProductsPerStep);
  const double growth = roundings.tensor_core_gamma(num_steps) +
                        roundings.gamma(static_cast<double>(rule.input_roundings + 2)) * 1.001;
  // Cutting off a subnormal sum loses up to two halves of the smallest number, its terms less than one.
  const double underflow = 3.0 * num_steps * roundings.half_smallest;
  score.error = rule.scale * (growth * sum_of_magnitudes + rule.key_scale * underflow) +
                roundings.half_smallest;
  const double largest_on_the_way =
      sum_of_magnitudes * std::max(1.0, rule.scale) * std::max(1.0, 1.0 / rule.key_scale);
  if (!(largest_on_the_way + score.error < roundings.largest)) score.error = kInfinity;
  return score;
}

// Step 1 and 2: scale · Σ q k. A product passes its rounding in the chain and those of all later
// sums: at most head_size; then one for the scale as a number and one for the multiplication.
BoundedScore scaled_dot_product(const double* query,
                                const double* key,
                                std::int64_t head_size,
                                const ScoreRule& rule,
                                const Roundings& roundings) {
  double dot = 0.0;
  double sum_of_magnitudes = 0.0;  // Σ |q k|
  double sum_of_inputs = 0.0;      // Σ (|q| + |k|), for inputs that become subnormal when read
  for (std::int64_t i = 0; i < head_size; ++i) {
    dot = fused_multiply_add(query[i], key[i], dot);
    sum_of_magnitudes += std::fabs(query[i] * key[i]);
    sum_of_inputs += std::fabs(query[i]) + std::fabs(key[i]);
  }
  BoundedScore score{dot * rule.scale, 0.0};
  if (!std::isfinite(dot)) return score;
  if (roundings.tensor_core) return on_tensor_cores(query, key, head_size, rule, roundings, score);

  const double steps = static_cast<double>(head_size + rule.input_roundings + 2);
  const double underflow =
      (sum_of_inputs + static_cast<double>(head_size)) * roundings.half_smallest;
  score.error = rule.scale * (roundings.gamma(steps) * sum_of_magnitudes + underflow) +
                roundings.half_smallest;
  const double largest_on_the_way = sum_of_magnitudes * std::max(1.0, rule.scale);
  if (!(largest_on_the_way + score.error < roundings.largest)) score.error = kInfinity;
  return score;
}

// Step 3: cap · tanh(s / cap).
BoundedScore capped(BoundedScore score, double cap, const Roundings& roundings) {
  const double quotient = score.value / cap;
  const double t = std::tanh(quotient);
  double from_argument = 0.0;
  if (std::isfinite(quotient)) {
    // The error so far, the cap as a number, and the division. tanh is flattest away from 0, so its
    // slope 1 − tanh² is largest at the end of the interval that is nearest to 0.
    const double argument_error =
        score.error / cap + roundings.gamma(2) * std::fabs(quotient) + roundings.half_smallest;
    const double nearest_to_zero = std::max(0.0, std::fabs(quotient) - argument_error);
    const double tanh_there = std::tanh(nearest_to_zero);
    const double slope = 1.0 - tanh_there * tanh_there;
    from_argument = slope * argument_error;
  }
  // One ulp is at most 2u, relative, or twice half_smallest.
  const double from_tanh =
      2.0 * kTanhUlps * (roundings.unit * std::fabs(t) + roundings.half_smallest);
  const double tanh_error = from_argument + from_tanh;
  // The cap as a number, and the multiplication.
  const double from_product = roundings.gamma(2) * cap * (std::fabs(t) + tanh_error);
  return {cap * t, cap * tanh_error + from_product + roundings.half_smallest};
}

// Step 4: s + (−slope · distance): one rounding of the product, one of the sum.
BoundedScore biased(BoundedScore score,
                    double slope,
                    std::int64_t distance,
                    const Roundings& roundings) {
  const double bias = -slope * static_cast<double>(distance);
  const double sum = score.value + bias;
  if (!std::isfinite(sum)) return {sum, score.error};
  const double before_the_sum =
      score.error + roundings.unit * std::fabs(bias) + roundings.half_smallest;
  return {sum, before_the_sum + roundings.unit * (std::fabs(sum) + before_the_sum)};
}

}  // namespace

Roundings::Roundings(const Precision& precision)
    : exponential_ulps(precision.exponential_ulps), confidence(precision.confidence) {
  const FloatLimits limits = limits_of(precision.arithmetic);
  unit = limits.unit_roundoff + limits_of(DType::kFloat64).unit_roundoff;
  half_smallest = limits.half_smallest;
  largest = limits.largest;
  // exact_exp2 flushes below −126; in double, results lose digits where they become subnormal.
  lowest_exp2 = precision.arithmetic == DType::kFloat32 ? -126.0 : -1022.0;
  tensor_core = precision.tensor_core_sums;
  least_operand = precision.probabilities == DType::kFloat16 ? 0x1p-14 : 0x1p-126;
}

double Roundings::tensor_core_gamma(double num_steps) const {
  const double worst_sum = num_steps * (kTensorCoreStep + 0x1p-52);
  return worst_sum < 1.0 ? worst_sum / (1.0 - worst_sum) : kInfinity;
}

double Roundings::gamma(double count) const {
  const double worst_sum = count * unit;
  const double worst = worst_sum < 1.0 ? worst_sum / (1.0 - worst_sum) : kInfinity;
  if (confidence == 0.0) return worst;
  // Source: Higham and Mary (2019), theorem 2.4.
  const double likely =
      std::expm1(confidence * std::sqrt(count) * unit + count * unit * unit / (1.0 - unit));
  return std::min(worst, likely);
}

BoundedScore bounded_score(const double* query,
                           const double* key,
                           std::int64_t head_size,
                           std::int64_t distance,
                           const ScoreRule& rule,
                           const Roundings& roundings) {
  BoundedScore score = scaled_dot_product(query, key, head_size, rule, roundings);
  if (rule.logit_softcap) score = capped(score, *rule.logit_softcap, roundings);
  if (rule.alibi_slope) score = biased(score, *rule.alibi_slope, distance, roundings);
  return score;
}

}  // namespace pagelab
