#include "reference/attention/contiguous.h"

#include <algorithm>

#include "reference/attention/query_row.h"
#include "reference/contract/refuse.h"
#include "reference/contract/validate.h"

namespace pagelab {

namespace {

void require_rows(const char* name, const Tensor& rows) {
  if (rows.rank() != 3) {
    refuse("{} has shape {}; it must have three axes, [tokens, heads, elements].", name,
           to_string(rows.shape()));
  }
  if (!is_activation_dtype(rows.dtype())) {
    refuse("{} is {}; it must be float64, float32, float16 or bfloat16.", name,
           to_string(rows.dtype()));
  }
}

void require_sound(const Tensor& query, const Tensor& key, const Tensor& value) {
  require_rows("query", query);
  require_rows("key", key);
  require_rows("value", value);
  if (key.dtype() != value.dtype()) {
    refuse("key is {}, but value is {}.", to_string(key.dtype()), to_string(value.dtype()));
  }
  if (key.shape()[0] != value.shape()[0] || key.shape()[1] != value.shape()[1]) {
    refuse("key has shape {}, but value {}: their tokens and heads must agree.",
           to_string(key.shape()), to_string(value.shape()));
  }
  if (query.shape()[2] != key.shape()[2]) {
    refuse("query's head_size is {}, but key's is {}.", query.shape()[2], key.shape()[2]);
  }
  if (key.shape()[1] < 1 || query.shape()[1] % key.shape()[1] != 0) {
    refuse("query has {} heads, which is not a multiple of the {} KV heads.", query.shape()[1],
           key.shape()[1]);
  }
}

// The ranges may belong to any request of a batch that this function does not see.
void require_sound(const AttentionVariant& variant,
                   std::int64_t num_query_heads,
                   std::int64_t req_idx) {
  std::int64_t last_req_idx = req_idx;
  for (const MmPrefixRange& range : variant.mm_prefix_ranges) {
    last_req_idx = std::max<std::int64_t>(last_req_idx, range.req_idx);
  }
  CommonAttentionMetadata batch;
  batch.seq_lens.resize(static_cast<std::size_t>(last_req_idx + 1));
  validate(variant, num_query_heads, batch);
}

// One query row against keys [m, num_kv_heads, head_size] and values [m, num_kv_heads,
// head_size_v].
template <typename Real, typename Stored>
void attend_one_row(const QueryRow<Real>& row,
                    std::int64_t kv_head_idx,
                    const TensorView<const Stored, 3>& keys,
                    const TensorView<const Stored, 3>& values,
                    Real* output,
                    Real* lse) {
  constexpr float kNoScale = 1.0f;
  const std::int64_t seq_len = keys.shape[0];
  RowVector<Real> scores(seq_len);
  Real m = kMinusInfinity<Real>;
  std::int64_t num_visible_keys = 0;
  for (std::int64_t position = 0; position < seq_len; ++position) {
    if (!row.sees(position)) continue;
    // Step 1: nothing here, the key of a position is the row of that number
    const Stored* key = keys.row(position, kv_head_idx);

    // Step 2: scores
    const Real query_dot_key = dot(row.query, key, kNoScale);
    const Real score = row.score(query_dot_key, position);
    scores[position] = score;
    m = larger(score, m);
    ++num_visible_keys;
  }
  m = larger(row.sink, m);

  Real l = 0;
  RowVector<Real> acc = RowVector<Real>::Zero(values.shape[2]);
  for (std::int64_t position = 0; position < seq_len; ++position) {
    if (!row.sees(position)) continue;
    const Stored* value = values.row(position, kv_head_idx);

    // Step 3: softmax update
    const Real p = softmax_weight(scores[position], m);
    l = l + p;

    // Step 4: weighted values
    add_weighted(p, value, kNoScale, acc);
  }

  // Step 5: normalise
  if (num_visible_keys == 0) {
    std::fill(output, output + acc.size(), Real{0});
    *lse = row.sink;
    return;
  }
  if (!row.variant->sinks.empty()) l = l + softmax_weight(row.sink, m);
  for (Eigen::Index d = 0; d < acc.size(); ++d) {
    output[d] = canonical_nan(acc[d] / l);
  }
  *lse = canonical_nan(m + exact_log(l));
}

}  // namespace

template <typename Real>
RequestAttention contiguous_attention(const Tensor& query,
                                      const Tensor& key,
                                      const Tensor& value,
                                      const AttentionVariant& variant,
                                      std::int64_t req_idx) {
  require_sound(query, key, value);
  const std::int64_t query_len = query.shape()[0];
  const std::int64_t num_query_heads = query.shape()[1];
  const std::int64_t seq_len = key.shape()[0];
  const std::int64_t group_size = num_query_heads / key.shape()[1];
  require_sound(variant, num_query_heads, req_idx);

  RequestAttention result;
  result.output = Tensor(DTypeOf<Real>::kValue, {query_len, num_query_heads, value.shape()[2]});
  result.lse = Tensor(DTypeOf<Real>::kValue, {num_query_heads, query_len});
  const TensorView<Real, 3> output = result.output.view<Real, 3>();
  const TensorView<Real, 2> lse = result.lse.view<Real, 2>();
  visit_float_dtype(key.dtype(), [&]<typename Stored>(Stored) {
    const TensorView<const Stored, 3> keys = key.view<Stored, 3>();
    const TensorView<const Stored, 3> values = value.view<Stored, 3>();
    for (std::int64_t query_idx = 0; query_idx < query_len; ++query_idx) {
      const std::int64_t position = seq_len - query_len + query_idx;
      for (std::int64_t head_idx = 0; head_idx < num_query_heads; ++head_idx) {
        const std::int64_t kv_head_idx = head_idx / group_size;
        const QueryRow<Real> row =
            query_row<Real>(query, query_idx, head_idx, variant, req_idx, position);
        attend_one_row(row, kv_head_idx, keys, values, output.row(query_idx, head_idx),
                       &lse(head_idx, query_idx));
      }
    }
  });
  return result;
}

template RequestAttention contiguous_attention<float>(
    const Tensor&, const Tensor&, const Tensor&, const AttentionVariant&, std::int64_t);
template RequestAttention contiguous_attention<double>(
    const Tensor&, const Tensor&, const Tensor&, const AttentionVariant&, std::int64_t);

}  // namespace pagelab
