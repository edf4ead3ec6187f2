#include "reference/numerics/cascade_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/attention/cascade.h"
#include "reference/attention/paged.h"
#include "reference/contract/validate.h"
#include "reference/numerics/score_bound.h"
#include "reference/numerics/softmax_bound.h"

namespace pagelab {
namespace {

// The exact results over one part's keys, and how far the computed ones may be off.
struct BoundedPart {
  Tensor output;  // float64 [T, num_query_heads, head_size_v]
  Tensor lse;     // float64 [num_query_heads, T]
  ErrorBound bound;
};

BoundedPart bounded_part(const AttentionStep& part, const std::vector<Precision>& of_requests) {
  BoundedPart result;
  paged_attention_in_place<double>(part, result.output, result.lse);
  result.bound = error_bound(part, of_requests);
  return result;
}

// Two operations a term more than its exponential: the share w / Σ w and its product; one of them is in the
// canonical order's chain.
Precision precision_of_merge(const std::vector<Precision>& prefix) {
  const bool is_double = !prefix.empty() && prefix.front().arithmetic == DType::kFloat64;
  Precision merge = is_double ? Precision::canonical_double() : Precision::canonical_float();
  merge.extra_roundings = 1;
  return merge;
}

// One row and head of both parts.
class MergedRow {
 public:
  MergedRow(const BoundedPart& prefix,
            const BoundedPart& suffix,
            std::int64_t token_idx,
            std::int64_t head_idx,
            const Precision& precision)
      : precision_(precision), roundings_(precision) {
    std::vector<Term> terms;
    for (const BoundedPart* part : {&prefix, &suffix}) {
      Term term;
      term.score = {part->lse.view<double, 2>()(head_idx, token_idx),
                    part->bound.lse.view<double, 2>()(head_idx, token_idx)};
      term.value = part->output.view<double, 3>().row(token_idx, head_idx);
      terms.push_back(term);
      errors_.push_back(part->bound.output.view<double, 3>().row(token_idx, head_idx));
    }
    row_ = softmax_row(terms, roundings_);
    row_.num_keys = 2;
  }

  double lse() const { return or_infinity(lse_bound(row_, precision_)); }

  double output(std::int64_t d) const {
    return or_infinity(output_bound(row_, d, 0, precision_) + carried(d));
  }

 private:
  // What is not finite in a part has no bound.
  static double or_infinity(double bound) {
    return std::isnan(bound) ? std::numeric_limits<double>::infinity() : bound;
  }

  // What the parts' own errors come to, weighed by the computed shares and rounded five times more.
  double carried(std::int64_t d) const {
    const double weights_left = 1.0 - row_.weight_error_sum;
    double sum = 0.0;
    for (std::size_t part_idx = 0; part_idx < errors_.size(); ++part_idx) {
      const Term& term = row_.terms[part_idx];
      const double share =
          weights_left > 0.0 ? term.probability * (1.0 + term.weight_error) / weights_left : 1.0;
      sum += std::min(share, 1.0) * errors_[part_idx][d];
    }
    return sum * (1.0 + roundings_.gamma(5.0));
  }

  Precision precision_;
  Roundings roundings_;
  SoftmaxRow row_;
  std::vector<const double*> errors_;  // [2] of the parts' outputs
};

}  // namespace

ErrorBound cascade_error_bound(const AttentionStep& step,
                               std::int64_t num_common_prefix_blocks,
                               const CascadePrecision& precision) {
  validate(step, StepUse::kAttend);
  const CascadeParts parts = split_cascade(step.metadata, step.variant,
                                           step.cache.spec().block_size, num_common_prefix_blocks);
  AttentionStep part = step;
  // Every request with the prefix to itself: the same rows, with a precision each.
  for (std::int64_t req_idx = 0; req_idx < part.metadata.num_reqs(); ++req_idx) {
    const bool has_query = part.metadata.query_len(req_idx) > 0;
    part.metadata.seq_lens[static_cast<std::size_t>(req_idx)] =
        has_query ? parts.prefix.seq_lens.front() : 0;
  }
  part.variant = parts.prefix_variant;
  const BoundedPart prefix = bounded_part(part, precision.prefix);
  part.metadata = parts.suffix;
  part.variant = parts.suffix_variant;
  const BoundedPart suffix = bounded_part(part, precision.suffix);

  // The reference, all keys at once in double, is off itself; and where it is not finite, so is this sum.
  ErrorBound bound = error_bound(step, Precision::canonical_double());
  const Precision merge = precision_of_merge(precision.prefix);
  for (std::int64_t token_idx = 0; token_idx < step.metadata.num_actual_tokens(); ++token_idx) {
    for (std::int64_t head_idx = 0; head_idx < step.num_query_heads(); ++head_idx) {
      const MergedRow row(prefix, suffix, token_idx, head_idx, merge);
      bound.lse.view<double, 2>()(head_idx, token_idx) += row.lse();
      double* output = bound.output.view<double, 3>().row(token_idx, head_idx);
      for (std::int64_t d = 0; d < step.head_size_v(); ++d) output[d] += row.output(d);
    }
  }
  return bound;
}

}  // namespace pagelab
