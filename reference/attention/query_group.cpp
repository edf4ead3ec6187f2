#include "reference/attention/query_group.h"

#include <algorithm>

#include "reference/cache/cache_element.h"

namespace pagelab {

namespace {

// One head of a token, converted to Real.
template <typename Real>
RowVector<Real> row_of(const Tensor& query, std::int64_t token_idx, std::int64_t head_idx) {
  RowVector<Real> row(query.shape()[2]);
  visit_float_dtype(query.dtype(), [&]<typename Stored>(Stored) {
    const TensorView<const Stored, 3> view = query.view<Stored, 3>();
    const Stored* elements = view.row(token_idx, head_idx);
    for (Eigen::Index i = 0; i < row.size(); ++i) {
      row[i] = load_as<Real>(elements[i]);
    }
  });
  return row;
}

}  // namespace

template <typename Real>
QueryGroup<Real> query_group(const Tensor& query,
                             std::int64_t token_idx,
                             std::int64_t first_head,
                             std::int64_t group_size,
                             const AttentionVariant& variant,
                             std::int64_t req_idx,
                             std::int64_t position,
                             std::int64_t seq_len,
                             std::int64_t head_size_v) {
  QueryGroup<Real> group;
  group.variant = &variant;
  group.req_idx = req_idx;
  group.position = position;
  group.scale = static_cast<Real>(variant.scale);
  if (variant.logit_softcap) group.softcap = static_cast<Real>(*variant.logit_softcap);
  for (std::int64_t head_in_group = 0; head_in_group < group_size; ++head_in_group) {
    const std::size_t head_idx = static_cast<std::size_t>(first_head + head_in_group);
    QueryHead<Real>& head = group.heads.emplace_back();
    head.query = row_of<Real>(query, token_idx, first_head + head_in_group);
    if (!variant.alibi_slopes.empty()) head.alibi_slope = variant.alibi_slopes[head_idx];
    if (!variant.sinks.empty()) head.sink = variant.sinks[head_idx];
  }
  group.scores.resize(group_size, seq_len);
  group.m = RowVector<Real>::Constant(group_size, kMinusInfinity<Real>);
  group.l = RowVector<Real>::Zero(group_size);
  group.acc = RowMatrix<Real>::Zero(group_size, head_size_v);
  return group;
}

template <typename Real, typename Stored>
Real dot(const RowVector<Real>& query, const Stored* key, float k_scale) {
  Real sum = 0;
  for (Eigen::Index i = 0; i < query.size(); ++i) {
    const Real key_element = cache_value<Real>(key[i], k_scale);
    sum = fused_multiply_add(query[i], key_element, sum);
  }
  return sum;
}

template <typename Real, typename Stored>
void add_weighted(Real p, const Stored* value, float v_scale, std::int64_t head_size_v, Real* acc) {
  for (std::int64_t d = 0; d < head_size_v; ++d) {
    const Real value_element = cache_value<Real>(value[d], v_scale);
    acc[d] = fused_multiply_add(p, value_element, acc[d]);
  }
}

// Everything above in both precisions, and over every storage type.
#define PAGELAB_INSTANTIATE_OVER(Real, Stored)                     \
  template Real dot(const RowVector<Real>&, const Stored*, float); \
  template void add_weighted(Real, const Stored*, float, std::int64_t, Real*);
#define PAGELAB_INSTANTIATE(Real)                                                                \
  template QueryGroup<Real> query_group(const Tensor&, std::int64_t, std::int64_t, std::int64_t, \
                                        const AttentionVariant&, std::int64_t, std::int64_t,     \
                                        std::int64_t, std::int64_t);                             \
  PAGELAB_INSTANTIATE_OVER(Real, double)                                                         \
  PAGELAB_INSTANTIATE_OVER(Real, float)                                                          \
  PAGELAB_INSTANTIATE_OVER(Real, Float16)                                                        \
  PAGELAB_INSTANTIATE_OVER(Real, BFloat16)                                                       \
  PAGELAB_INSTANTIATE_OVER(Real, Fp8E4M3)                                                        \
  PAGELAB_INSTANTIATE_OVER(Real, Fp8E5M2)
PAGELAB_INSTANTIATE(double)
PAGELAB_INSTANTIATE(float)
#undef PAGELAB_INSTANTIATE
#undef PAGELAB_INSTANTIATE_OVER

}  // namespace pagelab
