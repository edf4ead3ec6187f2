#include "tests/reference/attention/definition.h"

#include <Eigen/Core>
#include <cmath>
#include <limits>

namespace pagelab::test {
namespace {

using Matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr long double kInfinity = std::numeric_limits<long double>::infinity();

// Elements [row, first_column + …] of an array seen as a matrix of rows.
Matrix head_of_rows(const Tensor& array,
                    std::int64_t first_row,
                    std::int64_t num_rows,
                    std::int64_t head_idx) {
  const std::int64_t num_heads = array.shape()[1];
  const std::int64_t size = array.shape()[2];
  Matrix rows(num_rows, size);
  for (std::int64_t row = 0; row < num_rows; ++row) {
    for (std::int64_t i = 0; i < size; ++i) {
      rows(row, i) = array.value(((first_row + row) * num_heads + head_idx) * size + i);
    }
  }
  return rows;
}

// A request's cached keys or values, from the cache in its logical order.
Matrix head_of_cache(const Tensor& logical,
                     std::span<const std::int32_t> table_row,
                     std::int64_t num_tokens,
                     std::int64_t head_idx,
                     float scale) {
  const Shape& shape = logical.shape();
  Matrix rows(num_tokens, shape[3]);
  for (std::int64_t position = 0; position < num_tokens; ++position) {
    const std::int64_t block = table_row[static_cast<std::size_t>(position / shape[1])];
    const std::int64_t token = block * shape[1] + position % shape[1];
    for (std::int64_t i = 0; i < shape[3]; ++i) {
      const long double stored = logical.value((token * shape[2] + head_idx) * shape[3] + i);
      rows(position, i) = stored * static_cast<long double>(scale);
    }
  }
  return rows;
}

// The set of keys that a query attends over, in the words of the definition.
bool attends(const AttentionVariant& variant,
             std::int64_t req_idx,
             std::int64_t a,
             std::int64_t j) {
  if (variant.attn_type == AttnType::kEncoderDecoder) return true;
  const std::int64_t left = variant.visibility.window_left;
  const std::int64_t right = variant.visibility.window_right;
  const bool not_in_future = !variant.visibility.causal || j <= a;
  const bool within_left = left == -1 || j >= a - left;
  const bool within_right = right == -1 || j <= a + right;
  if (not_in_future && within_left && within_right) return true;
  for (const MmPrefixRange& range : variant.mm_prefix_ranges) {
    if (range.req_idx != req_idx || range.first >= range.last) continue;
    const bool holds_query = range.first <= a && a <= range.last;
    const bool holds_key = range.first <= j && j <= range.last;
    if (holds_query && holds_key) return true;
  }
  return false;
}

// All scores of a head, −∞ where the mask hides a key: [n, m].
Matrix masked_scores(const AttentionVariant& variant,
                     std::int64_t req_idx,
                     std::int64_t head_idx,
                     const Matrix& query,
                     const Matrix& key) {
  Matrix scores = query * key.transpose();
  scores *= static_cast<long double>(variant.scale);
  if (variant.logit_softcap) {
    const long double cap = *variant.logit_softcap;
    scores = scores.unaryExpr([cap](long double s) { return cap * std::tanh(s / cap); });
  }
  for (Eigen::Index i = 0; i < scores.rows(); ++i) {
    const std::int64_t a = key.rows() - query.rows() + i;
    for (Eigen::Index j = 0; j < scores.cols(); ++j) {
      if (!variant.alibi_slopes.empty()) {
        const long double slope = variant.alibi_slopes[static_cast<std::size_t>(head_idx)];
        scores(i, j) -= slope * static_cast<long double>(std::abs(a - j));
      }
      if (!attends(variant, req_idx, a, j)) scores(i, j) = -kInfinity;
    }
  }
  return scores;
}

struct Head {
  Matrix output;  // [n, head_size_v]
  Matrix lse;     // [n, 1]
};

Head attend_head(const Matrix& scores, const Matrix& value, long double sink) {
  Head head{Matrix::Zero(scores.rows(), value.cols()), Matrix(scores.rows(), 1)};
  for (Eigen::Index i = 0; i < scores.rows(); ++i) {
    const long double largest =
        std::max(sink, scores.cols() == 0 ? -kInfinity : scores.row(i).maxCoeff());
    head.lse(i, 0) = -kInfinity;
    if (largest == -kInfinity) continue;
    const Matrix weights =
        scores.row(i).unaryExpr([largest](long double s) { return std::exp(s - largest); });
    const long double sum = weights.sum() + std::exp(sink - largest);
    head.output.row(i) = (weights / sum) * value;
    head.lse(i, 0) = largest + std::log(sum);
  }
  return head;
}

}  // namespace

RequestAttention attention_by_definition(const AttentionStep& step) {
  const CommonAttentionMetadata& metadata = step.metadata;
  const AttentionVariant& variant = step.variant;
  const Tensor cached_keys = step.cache.keys();
  const Tensor cached_values = step.cache.values();
  RequestAttention result;
  result.output =
      Tensor(DType::kFloat64, {step.num_tokens(), step.num_query_heads(), step.head_size_v()});
  result.lse = Tensor(DType::kFloat64, {step.num_query_heads(), step.num_tokens()});
  std::fill(result.lse.data<double>(), result.lse.data<double>() + result.lse.size(),
            -std::numeric_limits<double>::infinity());

  for (std::int64_t req_idx = 0; req_idx < metadata.num_reqs(); ++req_idx) {
    const std::int64_t first = metadata.query_start_loc[static_cast<std::size_t>(req_idx)];
    const std::int64_t n = metadata.query_len(req_idx);
    const std::int64_t m = metadata.seq_lens[static_cast<std::size_t>(req_idx)];
    for (std::int64_t head_idx = 0; n > 0 && head_idx < step.num_query_heads(); ++head_idx) {
      const std::int64_t kv_head_idx = head_idx * step.num_kv_heads() / step.num_query_heads();
      Matrix key;
      Matrix value;
      if (variant.attn_type == AttnType::kEncoderOnly) {
        key = head_of_rows(step.key, first, n, kv_head_idx);
        value = head_of_rows(step.value, first, n, kv_head_idx);
      } else {
        const std::span<const std::int32_t> row = metadata.block_table.row(req_idx);
        key = head_of_cache(cached_keys, row, m, kv_head_idx, step.cache.k_scale_of(kv_head_idx));
        value =
            head_of_cache(cached_values, row, m, kv_head_idx, step.cache.v_scale_of(kv_head_idx));
      }
      const Matrix query = head_of_rows(step.query, first, n, head_idx);
      const long double sink =
          variant.sinks.empty() ? -kInfinity : variant.sinks[static_cast<std::size_t>(head_idx)];
      const Head head =
          attend_head(masked_scores(variant, req_idx, head_idx, query, key), value, sink);
      for (std::int64_t i = 0; i < n; ++i) {
        result.lse.view<double, 2>()(head_idx, first + i) = static_cast<double>(head.lse(i, 0));
        for (std::int64_t d = 0; d < step.head_size_v(); ++d) {
          result.output.view<double, 3>()(first + i, head_idx, d) =
              static_cast<double>(head.output(i, d));
        }
      }
    }
  }
  return result;
}

}  // namespace pagelab::test
