#include "reference/attention/paged.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "reference/attention/contiguous.h"
#include "reference/attention/query_group.h"
#include "reference/cache/gather.h"
#include "reference/contract/validate.h"

namespace pagelab {

namespace {

// Results as they are for rows that belong to no request: zeros, and LSE −∞.
template <typename Real>
void start_results(const AttentionStep& step, Tensor& output, Tensor& lse) {
  constexpr DType kDType = DTypeOf<Real>::kValue;
  output = Tensor(kDType, {step.num_tokens(), step.num_query_heads(), step.head_size_v()});
  lse = Tensor(kDType, {step.num_query_heads(), step.num_tokens()});
  std::fill(lse.data<Real>(), lse.data<Real>() + lse.size(), kMinusInfinity<Real>);
}

// Rows [begin, begin + count) of an array's first axis.
Tensor rows_of(const Tensor& array, std::int64_t begin, std::int64_t count) {
  Shape shape = array.shape();
  shape[0] = count;
  Tensor rows(array.dtype(), shape);
  if (rows.size() == 0) return rows;
  const std::int64_t bytes_per_row = rows.size_in_bytes() / count;
  std::memcpy(rows.bytes(), array.bytes() + begin * bytes_per_row,
              static_cast<std::size_t>(rows.size_in_bytes()));
  return rows;
}

// Puts one request's results at its rows of the batch.
template <typename Real>
void place_results(const RequestAttention& request,
                   std::int64_t first_token,
                   Tensor& output,
                   Tensor& lse) {
  const std::int64_t elements_per_token = output.shape()[1] * output.shape()[2];
  const Real* from = request.output.data<Real>();
  std::copy(from, from + request.output.size(),
            output.data<Real>() + first_token * elements_per_token);
  const TensorView<const Real, 2> from_lse = request.lse.view<Real, 2>();
  const TensorView<Real, 2> to_lse = lse.view<Real, 2>();
  for (std::int64_t head_idx = 0; head_idx < from_lse.shape[0]; ++head_idx) {
    for (std::int64_t query_idx = 0; query_idx < from_lse.shape[1]; ++query_idx) {
      to_lse(head_idx, first_token + query_idx) = from_lse(head_idx, query_idx);
    }
  }
}

// Contiguous attention of each request, over the keys and values that `keys_of` and `values_of`
// find for it.
template <typename Real, typename KeysOf, typename ValuesOf>
void attend_each_request(const AttentionStep& step,
                         const KeysOf& keys_of,
                         const ValuesOf& values_of,
                         Tensor& output,
                         Tensor& lse) {
  const CommonAttentionMetadata& metadata = step.metadata;
  for (std::int64_t req_idx = 0; req_idx < metadata.num_reqs(); ++req_idx) {
    const std::int64_t first_token = metadata.query_start_loc[static_cast<std::size_t>(req_idx)];
    const std::int64_t query_len = metadata.query_len(req_idx);
    if (query_len == 0) continue;
    const Tensor query = rows_of(step.query, first_token, query_len);
    const Tensor key = keys_of(req_idx);
    const Tensor value = values_of(req_idx);
    const RequestAttention request =
        contiguous_attention<Real>(query, key, value, step.variant, req_idx);
    place_results<Real>(request, first_token, output, lse);
  }
}

// encoder_only: a request's keys are this step's own tokens; no cache takes part.
template <typename Real>
void attend_over_own_tokens(const AttentionStep& step, Tensor& output, Tensor& lse) {
  const auto own_rows = [&step](const Tensor& array) {
    return [&step, &array](std::int64_t req_idx) {
      return rows_of(array, step.metadata.query_start_loc[static_cast<std::size_t>(req_idx)],
                     step.metadata.query_len(req_idx));
    };
  };
  attend_each_request<Real>(step, own_rows(step.key), own_rows(step.value), output, lse);
}

// One KV head of the cache, and the request whose context is read from it.
template <typename Stored>
struct PagedContext {
  std::span<const std::int32_t> block_table_row;  // [max_blocks_per_req]
  std::int64_t seq_len;                           // tokens in the cache
  TensorView<const Stored, 4> key_cache;    // [num_blocks, block_size, num_kv_heads, head_size]
  TensorView<const Stored, 4> value_cache;  // [num_blocks, block_size, num_kv_heads, head_size_v]
  std::int64_t kv_head_idx;
  float k_scale;
  float v_scale;
};

// A logical block of a context: where it lies, and which positions it holds.
struct LocatedBlock {
  std::int64_t physical_block;
  std::int64_t blocks_to_next;  // from it to where the next logical block lies; 0 for the last
  std::int64_t first_position;
  std::int64_t end_position;  // one past its last used position
};

template <typename Stored>
LocatedBlock locate(const PagedContext<Stored>& context, std::int64_t logical_block) {
  const std::int64_t block_size = context.key_cache.shape[1];
  const std::int64_t last_block = blocks_for_tokens(context.seq_len, block_size) - 1;
  const std::int64_t next_block = std::min(logical_block + 1, last_block);
  LocatedBlock block;
  block.physical_block = context.block_table_row[static_cast<std::size_t>(logical_block)];
  block.blocks_to_next =
      context.block_table_row[static_cast<std::size_t>(next_block)] - block.physical_block;
  block.first_position = logical_block * block_size;
  block.end_position = std::min(block.first_position + block_size, context.seq_len);
  return block;
}

// The query heads of one group against the cached tokens of their request, block by block.
// Two passes: the maximum of the scores first, then the weights.
template <typename Real, typename Stored>
void attend_one_group(QueryGroup<Real>& group, const PagedContext<Stored>& context) {
  const TensorView<const Stored, 4>& keys = context.key_cache;
  const TensorView<const Stored, 4>& values = context.value_cache;
  const std::int64_t group_size = group.size();
  const std::int64_t head_size = keys.shape[3];
  const std::int64_t head_size_v = values.shape[3];
  const std::int64_t num_blocks = blocks_for_tokens(context.seq_len, keys.shape[1]);
  for (std::int64_t logical_block = 0; logical_block < num_blocks; ++logical_block) {
    // Step 1: locate the block
    const LocatedBlock block = locate(context, logical_block);
    const Stored* first_key = keys.row(block.physical_block, 0, context.kv_head_idx);
    const std::int64_t to_next_block = block.blocks_to_next * keys.strides[0];

    // Step 2: scores
    for (std::int64_t position = block.first_position; position < block.end_position; ++position) {
      if (!group.sees(position)) continue;
      ++group.num_visible_keys;
      const std::int64_t block_offset = position - block.first_position;
      const Stored* key = first_key + block_offset * keys.strides[1];
      prefetch(key + to_next_block, head_size);
      for (std::int64_t head_in_group = 0; head_in_group < group_size; ++head_in_group) {
        const QueryHead<Real>& head = group.heads[static_cast<std::size_t>(head_in_group)];
        const Real query_dot_key = dot(head.query, key, context.k_scale);
        const Real score = group.score(head, query_dot_key, position);
        group.scores(head_in_group, position) = score;
        group.m[head_in_group] = larger(score, group.m[head_in_group]);
      }
    }
  }
  for (std::int64_t head_in_group = 0; head_in_group < group_size; ++head_in_group) {
    const Real sink = group.heads[static_cast<std::size_t>(head_in_group)].sink;
    group.m[head_in_group] = larger(sink, group.m[head_in_group]);
  }

  for (std::int64_t logical_block = 0; logical_block < num_blocks; ++logical_block) {
    const LocatedBlock block = locate(context, logical_block);
    const Stored* first_value = values.row(block.physical_block, 0, context.kv_head_idx);
    const std::int64_t to_next_block = block.blocks_to_next * values.strides[0];
    for (std::int64_t position = block.first_position; position < block.end_position; ++position) {
      if (!group.sees(position)) continue;
      const std::int64_t block_offset = position - block.first_position;
      const Stored* value = first_value + block_offset * values.strides[1];
      prefetch(value + to_next_block, head_size_v);
      for (std::int64_t head_in_group = 0; head_in_group < group_size; ++head_in_group) {
        // Step 3: softmax update
        const Real p =
            softmax_weight(group.scores(head_in_group, position), group.m[head_in_group]);
        group.l[head_in_group] = group.l[head_in_group] + p;

        // Step 4: weighted values
        add_weighted(p, value, context.v_scale, head_size_v, &group.acc(head_in_group, 0));
      }
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

// Every query token of one request.
template <typename Real, typename Stored>
void attend_one_request(const AttentionStep& step,
                        std::int64_t req_idx,
                        const TensorView<Real, 3>& output,
                        const TensorView<Real, 2>& lse) {
  const CommonAttentionMetadata& metadata = step.metadata;
  const std::int64_t first_token = metadata.query_start_loc[static_cast<std::size_t>(req_idx)];
  const std::int64_t query_len = metadata.query_len(req_idx);
  const std::int64_t group_size = step.num_query_heads() / step.num_kv_heads();
  PagedContext<Stored> context;
  context.block_table_row = metadata.block_table.row(req_idx);
  context.seq_len = metadata.seq_lens[static_cast<std::size_t>(req_idx)];
  context.key_cache = step.cache.key_view<Stored>();
  context.value_cache = step.cache.value_view<Stored>();
  for (std::int64_t query_idx = 0; query_idx < query_len; ++query_idx) {
    const std::int64_t token_idx = first_token + query_idx;
    const std::int64_t position = context.seq_len - query_len + query_idx;
    for (std::int64_t kv_head_idx = 0; kv_head_idx < step.num_kv_heads(); ++kv_head_idx) {
      context.kv_head_idx = kv_head_idx;
      context.k_scale = step.cache.k_scale_of(kv_head_idx);
      context.v_scale = step.cache.v_scale_of(kv_head_idx);
      const std::int64_t first_head = kv_head_idx * group_size;
      QueryGroup<Real> group =
          query_group<Real>(step.query, token_idx, first_head, group_size, step.variant, req_idx,
                            position, context.seq_len, step.head_size_v());
      attend_one_group(group, context);
      for (std::int64_t head_in_group = 0; head_in_group < group_size; ++head_in_group) {
        const std::int64_t head_idx = first_head + head_in_group;
        normalise(group, head_in_group, output.row(token_idx, head_idx), &lse(head_idx, token_idx));
      }
    }
  }
}

}  // namespace

template <typename Real>
void paged_attention_by_gather(const AttentionStep& step, Tensor& output, Tensor& lse) {
  validate(step, StepUse::kAttend);
  start_results<Real>(step, output, lse);
  if (step.variant.attn_type == AttnType::kEncoderOnly) {
    attend_over_own_tokens<Real>(step, output, lse);
    return;
  }

  constexpr DType kDType = DTypeOf<Real>::kValue;
  const CommonAttentionMetadata& metadata = step.metadata;
  const auto gathered_keys = [&](std::int64_t req_idx) {
    return gather_keys(step.cache, metadata.block_table.row(req_idx),
                       metadata.seq_lens[static_cast<std::size_t>(req_idx)], kDType);
  };
  const auto gathered_values = [&](std::int64_t req_idx) {
    return gather_values(step.cache, metadata.block_table.row(req_idx),
                         metadata.seq_lens[static_cast<std::size_t>(req_idx)], kDType);
  };
  attend_each_request<Real>(step, gathered_keys, gathered_values, output, lse);
}

template <typename Real>
void paged_attention_in_place(const AttentionStep& step, Tensor& output, Tensor& lse) {
  validate(step, StepUse::kAttend);
  start_results<Real>(step, output, lse);
  if (step.variant.attn_type == AttnType::kEncoderOnly) {
    attend_over_own_tokens<Real>(step, output, lse);
    return;
  }

  const TensorView<Real, 3> output_view = output.view<Real, 3>();
  const TensorView<Real, 2> lse_view = lse.view<Real, 2>();
  visit_float_dtype(step.cache.spec().dtype, [&]<typename Stored>(Stored) {
    for (std::int64_t req_idx = 0; req_idx < step.metadata.num_reqs(); ++req_idx) {
      attend_one_request<Real, Stored>(step, req_idx, output_view, lse_view);
    }
  });
}

template void paged_attention_by_gather<float>(const AttentionStep&, Tensor&, Tensor&);
template void paged_attention_by_gather<double>(const AttentionStep&, Tensor&, Tensor&);
template void paged_attention_in_place<float>(const AttentionStep&, Tensor&, Tensor&);
template void paged_attention_in_place<double>(const AttentionStep&, Tensor&, Tensor&);

}  // namespace pagelab
