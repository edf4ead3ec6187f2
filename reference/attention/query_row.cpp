#include "reference/attention/query_row.h"

namespace pagelab {

template <typename Real>
QueryRow<Real> query_row(const Tensor& query,
                         std::int64_t token_idx,
                         std::int64_t head_idx,
                         const AttentionVariant& variant,
                         std::int64_t req_idx,
                         std::int64_t position) {
  QueryRow<Real> row;
  row.variant = &variant;
  row.req_idx = req_idx;
  row.position = position;
  row.scale = static_cast<Real>(variant.scale);
  const std::size_t head = static_cast<std::size_t>(head_idx);
  if (variant.logit_softcap) row.softcap = static_cast<Real>(*variant.logit_softcap);
  if (!variant.alibi_slopes.empty()) row.alibi_slope = variant.alibi_slopes[head];
  if (!variant.sinks.empty()) row.sink = variant.sinks[head];

  visit_float_dtype(query.dtype(), [&]<typename Stored>(Stored) {
    const TensorView<const Stored, 3> view = query.view<Stored, 3>();
    const Stored* elements = view.row(token_idx, head_idx);
    row.query.resize(view.shape[2]);
    for (Eigen::Index i = 0; i < row.query.size(); ++i) {
      row.query[i] = load_as<Real>(elements[i]);
    }
  });
  return row;
}

template QueryRow<float> query_row(
    const Tensor&, std::int64_t, std::int64_t, const AttentionVariant&, std::int64_t, std::int64_t);
template QueryRow<double> query_row(
    const Tensor&, std::int64_t, std::int64_t, const AttentionVariant&, std::int64_t, std::int64_t);

}  // namespace pagelab
