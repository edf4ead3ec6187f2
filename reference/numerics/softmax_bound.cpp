#include "reference/numerics/softmax_bound.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "reference/numerics/exact_math.h"

namespace pagelab {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Step 5: how far the computed weight 2^((s − m) · log2 e) of a term may be from e^(s − m),
// relatively. An error of m is a factor that all weights share, so it cancels in the end; it
// matters here only because the roundings are relative to the distance s − m as it was computed.
double weight_error_of(const Term& term, const SoftmaxRow& row, const Roundings& roundings) {
  const double distance = row.max_score - term.score.value;
  const double computed_distance = distance + term.score.error + row.max_score_error;
  // Three roundings: the difference, log2 e as a number, the product.
  const double argument_error = term.score.error + roundings.gamma(3) * computed_distance;
  // One ulp is at most 2u of the result.
  const double exp2_error = 2.0 * roundings.exponential_ulps * roundings.unit;
  const double error = std::expm1(argument_error - std::log1p(-exp2_error));
  // Far below the maximum the weight may be flushed to 0: then all of it is missing.
  const double lowest_argument =
      -computed_distance * (1.0 + roundings.gamma(3)) * std::numbers::log2e;
  return lowest_argument < roundings.lowest_exp2 ? 1.0 + error : error;
}

// The sums over one element of the values that its bound is made of.
struct ElementSums {
  double output = 0.0;             // o = Σ p v
  double magnitude = 0.0;          // A = Σ p |v|
  double sum_of_values = 0.0;      // Σ |v|
  double largest_magnitude = 0.0;  // max |v|
  double farthest = 0.0;           // max |v − o|
  double moved = 0.0;              // Σ p · weight_error · |v − o|
  double added_magnitude = 0.0;    // Σ p · weight_error · |v|
};

ElementSums element_sums(const SoftmaxRow& row, std::int64_t d) {
  ElementSums sums;
  for (const Term& term : row.terms) {
    const double v = term.value == nullptr ? 0.0 : term.value[d];
    sums.output += term.probability * v;
    sums.magnitude += term.probability * std::fabs(v);
    sums.sum_of_values += std::fabs(v);
    sums.largest_magnitude = std::max(sums.largest_magnitude, std::fabs(v));
  }
  for (const Term& term : row.terms) {
    const double v = term.value == nullptr ? 0.0 : term.value[d];
    const double distance = std::fabs(v - sums.output);
    sums.farthest = std::max(sums.farthest, distance);
    sums.moved += term.probability * term.weight_error * distance;
    sums.added_magnitude += term.probability * term.weight_error * std::fabs(v);
  }
  return sums;
}

// What rounding to a type does; nothing if the number has that type already.
FloatLimits rounding_to(DType type, const Precision& precision) {
  FloatLimits limits = limits_of(type);
  if (type == precision.arithmetic) {
    limits.unit_roundoff = 0.0;
    limits.half_smallest = 0.0;
  }
  return limits;
}

// Step 8, first part: what the errors of the weights do, had the sums no rounding.
// Weights of any size still average the values: no result leaves the hull of the values.
double error_from_weights(const SoftmaxRow& row, const ElementSums& sums) {
  const double weights_left = 1.0 - row.weight_error_sum;
  if (!(weights_left > 0.0)) return sums.farthest;
  return std::min(sums.farthest, sums.moved / weights_left);
}

// Step 8, second part: Σ p |v| as the computed weights have it.
double computed_magnitude(const SoftmaxRow& row, const ElementSums& sums) {
  const double weights_left = 1.0 - row.weight_error_sum;
  if (!(weights_left > 0.0)) return sums.largest_magnitude;
  return std::min(sums.largest_magnitude, (sums.magnitude + sums.added_magnitude) / weights_left);
}

// Roundings besides those of the additions. Online softmax multiplies the sums after a stretch of keys:
// one rounding, and for the exponential that it multiplies by two for each ulp that it may be off.
double roundings_between(const SoftmaxRow& row, const Precision& precision) {
  double roundings = static_cast<double>(precision.extra_roundings);
  if (precision.keys_per_rescaling > 0) {
    const double roundings_per_rescaling = 1.0 + std::ceil(2.0 * precision.exponential_ulps);
    const double stretch = static_cast<double>(precision.keys_per_rescaling);
    roundings += roundings_per_rescaling * std::ceil(static_cast<double>(row.num_keys) / stretch);
  }
  return roundings;
}

// Roundings in one chain over the terms: at most one a term.
double chain_length(const SoftmaxRow& row, const Precision& precision) {
  return static_cast<double>(row.terms.size()) + roundings_between(row, precision);
}

// Steps of 16 keys in which tensor cores have something to add.
double tensor_core_steps(const SoftmaxRow& row) {
  const double all_steps = std::ceil(static_cast<double>(row.num_keys) / kProductsPerStep);
  return std::min(all_steps, static_cast<double>(row.terms.size()));
}

// The relative error of the sum Σ p v, apart from the errors of p.
double gamma_of_values(const SoftmaxRow& row,
                       std::int64_t value_roundings,
                       const Precision& precision) {
  const Roundings roundings(precision);
  const double of_values = static_cast<double>(value_roundings);
  if (!precision.tensor_core_sums) {
    return roundings.gamma(chain_length(row, precision) + of_values);
  }
  const double of_sums = roundings.tensor_core_gamma(tensor_core_steps(row));
  const double of_others = roundings.gamma(roundings_between(row, precision) + of_values);
  return (1.0 + of_sums) * (1.0 + of_others) - 1.0;
}

// Terms that are cut off as if a subnormal operand, p or v, were the smallest normal number: 17 a step,
// each by less than 2^-25 of it.
double error_of_small_operands(const SoftmaxRow& row,
                               const ElementSums& sums,
                               const Precision& precision) {
  if (!precision.tensor_core_sums) return 0.0;
  const Roundings roundings(precision);
  const double largest_product =
      roundings.least_operand * (sums.largest_magnitude + row.value_scale);
  return tensor_core_steps(row) * 17 * 0x1p-25 * largest_product;
}

}  // namespace

SoftmaxRow softmax_row(std::vector<Term> terms, const Roundings& roundings) {
  SoftmaxRow row;
  row.terms = std::move(terms);
  for (const Term& term : row.terms) {
    if (term.score.value > row.max_score) row.max_score = term.score.value;
    row.max_score_error = std::max(row.max_score_error, term.score.error);
  }

  double l = 0.0;
  for (Term& term : row.terms) {
    term.probability = std::exp(term.score.value - row.max_score);
    l += term.probability;
  }
  row.lse = row.max_score + std::log(l);
  for (Term& term : row.terms) {
    term.probability /= l;
    if (!(term.probability > 0.0)) continue;  // exactly 0 everywhere, or NaN
    term.weight_error = weight_error_of(term, row, roundings);
    row.weight_error_sum += term.probability * term.weight_error;
  }
  return row;
}

double lse_bound(const SoftmaxRow& row, const Precision& precision) {
  if (!std::isfinite(row.lse)) return kNaN;
  if (std::isinf(row.max_score_error)) return kInfinity;
  const Roundings roundings(precision);

  // The sum of the weights: off by a factor between 1 − E and 1 + E. Whatever happened to them,
  // both LSEs lie between the largest score and that plus log(number of terms).
  const double log_terms = std::log(static_cast<double>(row.terms.size()));
  double from_weights = row.max_score_error + log_terms + 4.0 * roundings.unit;
  if (row.weight_error_sum < 1.0) {
    from_weights = std::min(from_weights, -std::log1p(-row.weight_error_sum));
  }
  // The roundings of the sum l.
  const double gamma_l = roundings.gamma(chain_length(row, precision));
  if (gamma_l >= 1.0) return kInfinity;
  const double log_l_error = from_weights - std::log1p(-gamma_l);

  // The logarithm's own error, one ulp being at most 2u; then the sum m + log(l).
  const double log_l = row.lse - row.max_score;
  const double from_log =
      2.0 * kExactLogUlps * (roundings.unit * (log_l + log_l_error) + roundings.half_smallest);
  // Tensor-core kernels keep the maximum in base 2: log2 e and ln 2 as numbers, and two products.
  const double from_base =
      precision.tensor_core_sums ? roundings.gamma(4.0) * std::fabs(row.max_score) : 0.0;
  const double before_the_sum = log_l_error + from_log + from_base;
  return before_the_sum + roundings.unit * (std::fabs(row.lse) + before_the_sum);
}

double output_bound(const SoftmaxRow& row,
                    std::int64_t d,
                    std::int64_t value_roundings,
                    const Precision& precision) {
  const Roundings roundings(precision);
  const ElementSums sums = element_sums(row, d);
  if (!std::isfinite(sums.output) || !std::isfinite(row.lse)) return kNaN;
  if (std::isinf(row.max_score_error) || sums.largest_magnitude > roundings.largest) {
    return kInfinity;
  }

  // Σ p v over l: p rounded to its type, one chain of sums above and one below.
  const FloatLimits p_rounding = rounding_to(precision.probabilities, precision);
  const double chain = chain_length(row, precision);
  const double gamma_pv = gamma_of_values(row, value_roundings, precision);
  const double gamma_l = roundings.gamma(chain);
  if (gamma_l >= 1.0) return kInfinity;
  const double growth = (1.0 + p_rounding.unit_roundoff) * (1.0 + gamma_pv) / (1.0 - gamma_l) - 1.0;
  // Absolute errors, where p or a sum is subnormal. Dividing by l ≥ 1 (the largest weight is 1)
  // makes them no larger, and 2 stands for the roundings that they pass.
  const double from_small_p = 2.0 * p_rounding.half_smallest * sums.sum_of_values;
  const double halves = precision.tensor_core_sums ? 3.0 : 1.0;  // cut off, not rounded
  const double from_small_sums = 2.0 * (chain + 2.0) * halves * roundings.half_smallest +
                                 2.0 * error_of_small_operands(row, sums, precision);
  const double before_division = error_from_weights(row, sums) +
                                 growth * computed_magnitude(row, sums) + from_small_p +
                                 from_small_sums;

  // The division, and rounding to the output's type.
  const FloatLimits out_rounding = rounding_to(precision.output, precision);
  const double last = (1.0 + roundings.unit) * (1.0 + out_rounding.unit_roundoff) - 1.0;
  const double bound = before_division + last * (std::fabs(sums.output) + before_division) +
                       out_rounding.half_smallest;
  const bool may_overflow = !(std::fabs(sums.output) + bound <= out_rounding.largest);
  return may_overflow ? kInfinity : bound;
}

}  // namespace pagelab
