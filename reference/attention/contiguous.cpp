#include "reference/attention/contiguous.h"

#include <algorithm>

#include "reference/attention/query_group.h"
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

// The query heads of one group against keys [m, num_kv_heads, head_size] and values
// [m, num_kv_heads, head_size_v]. Two passes: the maximum of the scores first, then the weights.
template <typename Real, typename Stored>
void attend_one_group(QueryGroup<Real>& group,
                      std::int64_t kv_head_idx,
                      const TensorView<const Stored, 3>& keys,
                      const TensorView<const Stored, 3>& values) {
  constexpr float kNoScale = 1.0f;
  constexpr std::int64_t kRowsAhead = 16;  // as far as the paged form looks with blocks of 16
  const std::int64_t group_size = group.size();
  const std::int64_t seq_len = keys.shape[0];
  const std::int64_t head_size = keys.shape[2];
  const std::int64_t head_size_v = values.shape[2];
  for (std::int64_t position = 0; position < seq_len; ++position) {
    if (!group.sees(position)) continue;
    ++group.num_visible_keys;
    // Step 1: nothing here, the key of a position is the row of that number
    const Stored* key = keys.row(position, kv_head_idx);
    prefetch(keys.row(std::min(position + kRowsAhead, seq_len - 1), kv_head_idx), head_size);

    // Step 2: scores
    for (std::int64_t head_in_group = 0; head_in_group < group_size; ++head_in_group) {
      const QueryHead<Real>& head = group.heads[static_cast<std::size_t>(head_in_group)];
      const Real query_dot_key = dot(head.query, key, kNoScale);
      const Real score = group.score(head, query_dot_key, position);
      group.scores(head_in_group, position) = score;
      group.m[head_in_group] = larger(score, group.m[head_in_group]);
    }
  }
  for (std::int64_t head_in_group = 0; head_in_group < group_size; ++head_in_group) {
    const Real sink = group.heads[static_cast<std::size_t>(head_in_group)].sink;
    group.m[head_in_group] = larger(sink, group.m[head_in_group]);
  }

  for (std::int64_t position = 0; position < seq_len; ++position) {
    if (!group.sees(position)) continue;
    const Stored* value = values.row(position, kv_head_idx);
    prefetch(values.row(std::min(position + kRowsAhead, seq_len - 1), kv_head_idx), head_size_v);
    for (std::int64_t head_in_group = 0; head_in_group < group_size; ++head_in_group) {
      // Step 3: softmax update
      const Real p = softmax_weight(group.scores(head_in_group, position), group.m[head_in_group]);
      group.l[head_in_group] = group.l[head_in_group] + p;

      // Step 4: weighted values
      add_weighted(p, value, kNoScale, head_size_v, &group.acc(head_in_group, 0));
    }
  }
}

// The result of one head: the sink's weight joins the sum, the sum divides. A head that saw no key
// gives zeros, and its sink as LSE.
template <typename Real>
void normalise(const QueryGroup<Real>& group, std::int64_t head_in_group, Real* output, Real* lse) {
  // Step 5: normalise
  const Real sink = group.heads[static_cast<std::size_t>(head_in_group)].sink;
  const std::int64_t head_size_v = group.acc.cols();
  if (group.num_visible_keys == 0) {
    std::fill(output, output + head_size_v, Real{0});
    *lse = sink;
    return;
  }
  const Real m = group.m[head_in_group];
  Real l = group.l[head_in_group];
  if (!group.variant->sinks.empty()) l = l + softmax_weight(sink, m);
  for (std::int64_t d = 0; d < head_size_v; ++d) {
    output[d] = canonical_nan(group.acc(head_in_group, d) / l);
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
  const std::int64_t num_kv_heads = key.shape()[1];
  const std::int64_t group_size = num_query_heads / num_kv_heads;
  const std::int64_t head_size_v = value.shape()[2];
  require_sound(variant, num_query_heads, req_idx);

  RequestAttention result;
  result.output = Tensor(DTypeOf<Real>::kValue, {query_len, num_query_heads, head_size_v});
  result.lse = Tensor(DTypeOf<Real>::kValue, {num_query_heads, query_len});
  const TensorView<Real, 3> output = result.output.view<Real, 3>();
  const TensorView<Real, 2> lse = result.lse.view<Real, 2>();
  visit_float_dtype(key.dtype(), [&]<typename Stored>(Stored) {
    const TensorView<const Stored, 3> keys = key.view<Stored, 3>();
    const TensorView<const Stored, 3> values = value.view<Stored, 3>();
    for (std::int64_t query_idx = 0; query_idx < query_len; ++query_idx) {
      const std::int64_t position = seq_len - query_len + query_idx;
      for (std::int64_t kv_head_idx = 0; kv_head_idx < num_kv_heads; ++kv_head_idx) {
        const std::int64_t first_head = kv_head_idx * group_size;
        QueryGroup<Real> group =
            query_group<Real>(query, query_idx, first_head, group_size, variant, req_idx, position,
                              seq_len, head_size_v);
        attend_one_group(group, kv_head_idx, keys, values);
        for (std::int64_t head_in_group = 0; head_in_group < group_size; ++head_in_group) {
          const std::int64_t head_idx = first_head + head_in_group;
          normalise(group, head_in_group, output.row(query_idx, head_idx),
                    &lse(head_idx, query_idx));
        }
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
