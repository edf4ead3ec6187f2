#include "tests/reference/numerics/plain_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

#include "reference/cache/cache_write.h"
#include "reference/numerics/exact_math.h"

namespace pagelab::test {
namespace {

float multiply_add(float a, float b, float c) { return std::fma(a, b, c); }
double multiply_add(double a, double b, double c) { return std::fma(a, b, c); }
long double multiply_add(long double a, long double b, long double c) { return a * b + c; }

float exp2_of(float x) { return exact_exp2(x); }
double exp2_of(double x) { return std::exp2(x); }
long double exp2_of(long double x) { return std::exp2(x); }

float log_of(float x) { return exact_log(x); }
double log_of(double x) { return std::log(x); }
long double log_of(long double x) { return std::log(x); }

float tanh_of(float x) { return exact_tanh(x); }
double tanh_of(double x) { return std::tanh(x); }
long double tanh_of(long double x) { return std::tanh(x); }

// One element of a cache, by the logical order [block, token, head, element].
template <typename Real>
Real cache_value(const Tensor& stored, std::int64_t index, float scale) {
  const Real value = static_cast<Real>(stored.value(index));
  return is_fp8(stored.dtype()) ? value * static_cast<Real>(scale) : value;
}

template <typename Real>
class PlainAttention {
 public:
  PlainAttention(const AttentionStep& step, Fault fault)
      : step_(step), fault_(fault), from_cache_(step.variant.attn_type != AttnType::kEncoderOnly) {
    if (from_cache_) {
      keys_ = step.cache.keys();
      values_ = step.cache.values();
    } else {
      keys_ = step.key;
      values_ = step.value;
    }
  }

  PlainResult run() {
    result_.output =
        Tensor(DType::kFloat64, {step_.num_tokens(), step_.num_query_heads(), step_.head_size_v()});
    result_.lse = Tensor(DType::kFloat64, {step_.num_query_heads(), step_.num_tokens()});
    for (double& lse : std::span(result_.lse.data<double>(), result_.lse.size())) lse = -INFINITY;
    for (std::int64_t req_idx = 0; req_idx < step_.metadata.num_reqs(); ++req_idx) {
      for (std::int64_t i = 0; i < step_.metadata.query_len(req_idx); ++i) {
        for (std::int64_t head = 0; head < step_.num_query_heads(); ++head) row(req_idx, i, head);
      }
    }
    return result_;
  }

 private:
  bool sees(std::int64_t req_idx, std::int64_t a, std::int64_t j) const {
    if (step_.variant.attn_type == AttnType::kEncoderDecoder) return true;
    const VisibilityRule& rule = step_.variant.visibility;
    bool visible = !rule.causal || j <= a;
    if (rule.window_left >= 0 && a - j > rule.window_left) visible = false;
    if (rule.window_right >= 0 && j - a > rule.window_right) visible = false;
    for (const MmPrefixRange& range : step_.variant.mm_prefix_ranges) {
      const bool holds_a = range.first <= a && a <= range.last;
      const bool holds_j = range.first <= j && j <= range.last;
      if (range.req_idx == req_idx && range.first < range.last && holds_a && holds_j)
        visible = true;
    }
    return visible;
  }

  // Where token j of a request lies in keys_ and values_, counted in rows of all heads.
  std::int64_t row_of(std::int64_t req_idx, std::int64_t j) const {
    if (!from_cache_) return step_.metadata.query_start_loc[req_idx] + j;
    const std::int64_t block_size = step_.cache.spec().block_size;
    return step_.metadata.block_table.row(req_idx)[j / block_size] * block_size + j % block_size;
  }

  Real key_at(std::int64_t row, std::int64_t kv_head, std::int64_t i) const {
    const std::int64_t index = (row * step_.num_kv_heads() + kv_head) * step_.head_size() + i;
    return cache_value<Real>(keys_, index, from_cache_ ? step_.cache.k_scale_of(kv_head) : 1.0f);
  }
  Real value_at(std::int64_t row, std::int64_t kv_head, std::int64_t d) const {
    const std::int64_t index = (row * step_.num_kv_heads() + kv_head) * step_.head_size_v() + d;
    return cache_value<Real>(values_, index, from_cache_ ? step_.cache.v_scale_of(kv_head) : 1.0f);
  }

  Real score(std::int64_t token, std::int64_t head, std::int64_t key_row, std::int64_t distance) {
    const std::int64_t kv_head = head / (step_.num_query_heads() / step_.num_kv_heads());
    Real s = 0;
    for (std::int64_t i = 0; i < step_.head_size(); ++i) {
      const std::int64_t index = (token * step_.num_query_heads() + head) * step_.head_size() + i;
      s = multiply_add(static_cast<Real>(step_.query.value(index)), key_at(key_row, kv_head, i), s);
    }
    const double factor = fault_ == Fault::kScaleOff ? 1.001 : 1.0;
    s = s * static_cast<Real>(step_.variant.scale * factor);
    if (step_.variant.logit_softcap) {
      const Real cap = static_cast<Real>(*step_.variant.logit_softcap);
      s = cap * tanh_of(s / cap);
    }
    if (!step_.variant.alibi_slopes.empty()) {
      const Real slope = static_cast<Real>(step_.variant.alibi_slopes[head]);
      const Real bias = -slope * static_cast<Real>(distance);
      s = s + bias;
    }
    return s;
  }

  void row(std::int64_t req_idx, std::int64_t i, std::int64_t head) {
    const std::int64_t seq_len = step_.metadata.seq_lens[req_idx];
    const std::int64_t a = seq_len - step_.metadata.query_len(req_idx) + i;
    const std::int64_t token = step_.metadata.query_start_loc[req_idx] + i;
    std::vector<std::int64_t> rows;
    std::vector<Real> scores;
    for (std::int64_t j = 0; j < seq_len; ++j) {
      if (!sees(req_idx, a, j)) continue;
      rows.push_back(row_of(req_idx, j));
      scores.push_back(score(token, head, rows.back(), std::abs(a - j)));
    }
    if (fault_ == Fault::kDropOneKey && rows.size() >= 2) {
      rows.erase(rows.begin());
      scores.erase(scores.begin());
    }
    std::optional<Real> sink;
    if (!step_.variant.sinks.empty()) sink = static_cast<Real>(step_.variant.sinks[head]);
    double& lse = result_.lse.view<double, 2>()(head, token);
    if (rows.empty()) {
      if (sink) lse = static_cast<double>(*sink);
      return;
    }
    lse = static_cast<double>(softmax(rows, scores, sink, token, head));
  }

  // Fills a row of the output, and returns its LSE.
  Real softmax(const std::vector<std::int64_t>& rows,
               const std::vector<Real>& scores,
               std::optional<Real> sink,
               std::int64_t token,
               std::int64_t head) {
    const std::int64_t kv_head = head / (step_.num_query_heads() / step_.num_kv_heads());
    Real m = -std::numeric_limits<Real>::infinity();
    for (Real s : scores) m = s > m ? s : m;
    if (sink) m = *sink > m ? *sink : m;
    Real l = 0;
    std::vector<Real> acc(static_cast<std::size_t>(step_.head_size_v()), Real{0});
    for (std::size_t k = 0; k < scores.size(); ++k) {
      Real p = exp2_of((scores[k] - m) * std::numbers::log2e_v<Real>);
      l = l + p;
      if (fault_ == Fault::kRoundP) p = load_as<float>(store_as<BFloat16>(static_cast<double>(p)));
      for (std::size_t d = 0; d < acc.size(); ++d) {
        acc[d] = multiply_add(p, value_at(rows[k], kv_head, static_cast<std::int64_t>(d)), acc[d]);
      }
    }
    if (sink) l = l + exp2_of((*sink - m) * std::numbers::log2e_v<Real>);
    double* output = result_.output.view<double, 3>().row(token, head);
    for (std::size_t d = 0; d < acc.size(); ++d) {
      const double value = static_cast<double>(acc[d] / l);
      output[d] =
          fault_ == Fault::kRoundOutput ? load_as<double>(store_as<BFloat16>(value)) : value;
    }
    return m + log_of(l);
  }

  const AttentionStep& step_;
  Fault fault_;
  bool from_cache_;
  Tensor keys_, values_;  // rows of tokens: the cache's slots, or this step's tokens
  PlainResult result_;
};

}  // namespace

template <typename Real>
PlainResult plain_attention(const AttentionStep& step, Fault fault) {
  return PlainAttention<Real>(step, fault).run();
}
template PlainResult plain_attention<float>(const AttentionStep&, Fault);
template PlainResult plain_attention<double>(const AttentionStep&, Fault);
template PlainResult plain_attention<long double>(const AttentionStep&, Fault);

AttentionStep with_tokens_stored(AttentionStep step) {
  if (step.variant.attn_type != AttnType::kEncoderOnly) {
    reshape_and_cache(step.key, step.value, step.metadata.slot_mapping, step.cache);
  }
  return step;
}

void BoundUse::join(const BoundUse& other) {
  compared += other.compared;
  exceeding += other.exceeding;
  worst_share = std::max(worst_share, other.worst_share);
}

BoundUse use_of_bound(const Tensor& got, const Tensor& expected, const Tensor& bound) {
  BoundUse use;
  for (std::int64_t index = 0; index < expected.size(); ++index) {
    const double a = got.value(index);
    const double b = expected.value(index);
    const double allowed = bound.value(index);
    const bool equal = a == b || (std::isnan(a) && std::isnan(b));
    const double error = equal ? 0.0 : std::fabs(a - b);
    if (!equal && !(error <= allowed)) ++use.exceeding;
    if (allowed > 0.0 && std::isfinite(allowed)) {
      ++use.compared;
      use.worst_share = std::max(use.worst_share, error / allowed);
    }
  }
  return use;
}

}  // namespace pagelab::test
