#include "reference/numerics/error_bound.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reference/cache/gather.h"
#include "reference/contract/validate.h"
#include "reference/numerics/score_bound.h"
#include "reference/numerics/softmax_bound.h"

namespace pagelab {
namespace {

// A request's keys and values, as the reference in double reads them.
struct RequestKeys {
  Tensor key;    // float64 [num_keys, num_kv_heads, head_size]
  Tensor value;  // float64 [num_keys, num_kv_heads, head_size_v]
  std::int64_t num_keys = 0;
  std::int64_t element_roundings = 0;  // of one element as the implementation reads it
};

// Rows first … first + count − 1 of a three-axis tensor, as float64.
Tensor rows_as_double(const Tensor& tensor, std::int64_t first, std::int64_t count) {
  const std::int64_t row_size = tensor.shape()[1] * tensor.shape()[2];
  Tensor rows(DType::kFloat64, {count, tensor.shape()[1], tensor.shape()[2]});
  double* to = rows.data<double>();
  for (std::int64_t index = 0; index < rows.size(); ++index) {
    to[index] = tensor.value(first * row_size + index);
  }
  return rows;
}

// 1 if reading an element rounds: a float64 read as float32, or an fp8 code times its scale (which may
// also multiply the sum over the elements, and rounds that once).
std::int64_t roundings_of_reading(DType stored, const Precision& precision) {
  const bool narrowed = stored == DType::kFloat64 && precision.arithmetic == DType::kFloat32;
  return narrowed || is_fp8(stored) ? 1 : 0;
}

RequestKeys keys_of(const AttentionStep& step, std::int64_t req_idx, const Precision& precision) {
  RequestKeys keys;
  keys.num_keys = step.metadata.seq_lens[req_idx];
  if (step.variant.attn_type == AttnType::kEncoderOnly) {
    const std::int64_t first = step.metadata.query_start_loc[req_idx];
    keys.key = rows_as_double(step.key, first, keys.num_keys);
    keys.value = rows_as_double(step.value, first, keys.num_keys);
    keys.element_roundings = roundings_of_reading(step.key.dtype(), precision);
    return keys;
  }
  const std::span<const std::int32_t> blocks = step.metadata.block_table.row(req_idx);
  keys.key = gather_keys(step.cache, blocks, keys.num_keys, DType::kFloat64);
  keys.value = gather_values(step.cache, blocks, keys.num_keys, DType::kFloat64);
  keys.element_roundings = roundings_of_reading(step.cache.spec().dtype, precision);
  return keys;
}

bool is_visible(const AttentionVariant& variant,
                std::int64_t req_idx,
                std::int64_t query_position,
                std::int64_t key_position) {
  if (variant.attn_type == AttnType::kEncoderDecoder) return true;
  const std::vector<MmPrefixRange>& ranges = variant.mm_prefix_ranges;
  return is_visible_by_rule(variant.visibility, query_position, key_position) ||
         is_visible_by_prefix_range(ranges.data(), static_cast<std::int64_t>(ranges.size()),
                                    req_idx, query_position, key_position);
}

// Fills the bounds of a step, one request after the other.
class BoundBuilder {
 public:
  BoundBuilder(const AttentionStep& step, const std::vector<Precision>& of_requests)
      : step_(step), of_requests_(of_requests) {
    const std::int64_t num_tokens = step.num_tokens();
    query_ = convert(step.query, DType::kFloat64);
    bound_.output =
        Tensor(DType::kFloat64, {num_tokens, step.num_query_heads(), step.head_size_v()});
    bound_.lse = Tensor(DType::kFloat64, {step.num_query_heads(), num_tokens});
  }

  ErrorBound build() {
    for (std::int64_t req_idx = 0; req_idx < step_.metadata.num_reqs(); ++req_idx) {
      precision_ = of_requests_[static_cast<std::size_t>(req_idx)];
      roundings_ = Roundings(precision_);
      const RequestKeys keys = keys_of(step_, req_idx, precision_);
      const std::int64_t query_len = step_.metadata.query_len(req_idx);
      for (std::int64_t i = 0; i < query_len; ++i) {
        for (std::int64_t head_idx = 0; head_idx < step_.num_query_heads(); ++head_idx) {
          fill_row(keys, req_idx, i, head_idx);
        }
      }
    }
    return std::move(bound_);
  }

 private:
  // Encoder-only keys do not come out of the cache, and have no scale.
  double scale_of(const std::vector<float>& scales, std::int64_t head_idx) const {
    if (step_.variant.attn_type == AttnType::kEncoderOnly || scales.empty()) return 1.0;
    const std::int64_t kv_head_idx = head_idx / (step_.num_query_heads() / step_.num_kv_heads());
    return scales.size() == 1 ? scales[0] : scales[static_cast<std::size_t>(kv_head_idx)];
  }

  ScoreRule rule_of(std::int64_t head_idx, const RequestKeys& keys) const {
    ScoreRule rule{};
    rule.key_scale = scale_of(step_.cache.k_scale, head_idx);
    rule.scale = step_.variant.scale;
    rule.logit_softcap = step_.variant.logit_softcap;
    if (!step_.variant.alibi_slopes.empty())
      rule.alibi_slope = step_.variant.alibi_slopes[head_idx];
    rule.input_roundings =
        roundings_of_reading(step_.query.dtype(), precision_) + keys.element_roundings;
    return rule;
  }

  // The visible keys of query i of a request, then the sink.
  std::vector<Term> terms_of(const RequestKeys& keys,
                             std::int64_t req_idx,
                             std::int64_t i,
                             std::int64_t head_idx) const {
    const std::int64_t head_size = step_.head_size();
    const std::int64_t group_size = step_.num_query_heads() / step_.num_kv_heads();
    const std::int64_t kv_head_idx = head_idx / group_size;
    const std::int64_t token_idx = step_.metadata.query_start_loc[req_idx] + i;
    const std::int64_t query_position = keys.num_keys - step_.metadata.query_len(req_idx) + i;
    const double* query =
        query_.data<double>() + (token_idx * step_.num_query_heads() + head_idx) * head_size;
    const ScoreRule rule = rule_of(head_idx, keys);

    std::vector<Term> terms;
    for (std::int64_t j = 0; j < keys.num_keys; ++j) {
      if (!is_visible(step_.variant, req_idx, query_position, j)) continue;
      const std::int64_t row = j * step_.num_kv_heads() + kv_head_idx;
      const double* key = keys.key.data<double>() + row * head_size;
      const std::int64_t distance = std::abs(query_position - j);
      Term term;
      term.score = bounded_score(query, key, head_size, distance, rule, roundings_);
      term.value = keys.value.data<double>() + row * step_.head_size_v();
      terms.push_back(term);
    }
    if (!terms.empty() && !step_.variant.sinks.empty()) {
      const double sink = step_.variant.sinks[head_idx];
      const bool is_there = sink != -std::numeric_limits<double>::infinity();
      // Tensor-core kernels have scores in base 2, whose factor is rounded otherwise than the sink's.
      const double error =
          precision_.tensor_core_sums ? roundings_.gamma(2) * std::fabs(sink) : 0.0;
      if (is_there) terms.push_back(Term{BoundedScore{sink, error}});
    }
    return terms;
  }

  void fill_row(const RequestKeys& keys,
                std::int64_t req_idx,
                std::int64_t i,
                std::int64_t head_idx) {
    std::vector<Term> terms = terms_of(keys, req_idx, i, head_idx);
    if (terms.empty()) return;  // zeros and −∞ (or the sink), exactly
    SoftmaxRow row = softmax_row(std::move(terms), roundings_);
    row.num_keys = keys.num_keys;
    row.value_scale = scale_of(step_.cache.v_scale, head_idx);
    const std::int64_t token_idx = step_.metadata.query_start_loc[req_idx] + i;
    bound_.lse.view<double, 2>()(head_idx, token_idx) = lse_bound(row, precision_);
    double* output = bound_.output.view<double, 3>().row(token_idx, head_idx);
    for (std::int64_t d = 0; d < step_.head_size_v(); ++d) {
      output[d] = output_bound(row, d, keys.element_roundings, precision_);
    }
  }

  const AttentionStep& step_;
  const std::vector<Precision>& of_requests_;  // [num_reqs]
  Precision precision_;                        // of the request that is being filled in
  Roundings roundings_{precision_};            // likewise
  Tensor query_;                               // float64 [T, num_query_heads, head_size]
  ErrorBound bound_;
};

void validate(const Precision& precision) {
  if (precision.arithmetic != DType::kFloat32 && precision.arithmetic != DType::kFloat64) {
    throw Error(fmt::format("precision.arithmetic is {}, but sums run in float32 or float64.",
                            to_string(precision.arithmetic)));
  }
  limits_of(precision.probabilities);
  if (!is_activation_dtype(precision.output)) {
    throw Error(fmt::format(
        "precision.output is {}, but results are float64, float32, float16 or bfloat16.",
        to_string(precision.output)));
  }
  if (precision.extra_roundings < 0) {
    throw Error(fmt::format("precision.extra_roundings is {}, but it must be 0 or more.",
                            precision.extra_roundings));
  }
  if (precision.keys_per_rescaling < 0) {
    throw Error(fmt::format("precision.keys_per_rescaling is {}, but it must be 0 or more.",
                            precision.keys_per_rescaling));
  }
  const bool is_16_bit =
      precision.probabilities == DType::kFloat16 || precision.probabilities == DType::kBFloat16;
  if (precision.tensor_core_sums && (!is_16_bit || precision.arithmetic != DType::kFloat32)) {
    throw Error(fmt::format(
        "precision.tensor_core_sums is for float16 or bfloat16 probabilities and float32 "
        "arithmetic, but they are {} and {}.",
        to_string(precision.probabilities), to_string(precision.arithmetic)));
  }
  if (!(precision.confidence >= 0.0) || std::isinf(precision.confidence)) {
    throw Error(fmt::format("precision.confidence is {}, but it must be 0 or a positive number.",
                            precision.confidence));
  }
}

}  // namespace

FloatLimits limits_of(DType dtype) {
  // 2^-(1 + mantissa bits); half of 2^(smallest exponent − mantissa bits); the largest value.
  switch (dtype) {
    case DType::kFloat64:
      return {0x1p-53, 0.0, std::numeric_limits<double>::max()};  // 2^-1075 is no double
    case DType::kFloat32:
      return {0x1p-24, 0x1p-150, std::numeric_limits<float>::max()};
    case DType::kFloat16:
      return {0x1p-11, 0x1p-25, 65504.0};
    case DType::kBFloat16:
      return {0x1p-8, 0x1p-134, 0x1.fep127};
    case DType::kFp8E4M3:
      return {0x1p-4, 0x1p-10, 448.0};
    case DType::kFp8E5M2:
      return {0x1p-3, 0x1p-17, 57344.0};
    default:
      throw Error(fmt::format("dtype {} is not a float type.", to_string(dtype)));
  }
}

ErrorBound error_bound(const AttentionStep& step, const Precision& precision) {
  validate(precision);  // also where there is no request
  const std::size_t num_reqs = static_cast<std::size_t>(step.metadata.num_reqs());
  return error_bound(step, std::vector<Precision>(num_reqs, precision));
}

ErrorBound error_bound(const AttentionStep& step, const std::vector<Precision>& of_requests) {
  for (const Precision& precision : of_requests) validate(precision);
  validate(step, StepUse::kAttend);
  if (of_requests.size() != step.metadata.seq_lens.size()) {
    throw Error(fmt::format("there are {} precisions, but {} requests.", of_requests.size(),
                            step.metadata.seq_lens.size()));
  }
  return BoundBuilder(step, of_requests).build();
}

}  // namespace pagelab
