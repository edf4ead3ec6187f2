#include "gpu/backends/cpu_attn/finish.h"

#include <Eigen/Core>
#include <limits>

#include "gpu/backends/cpu_attn/task_rows.h"
#include "reference/numerics/exact_math.h"

namespace pagelab::cpu_attn {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

using Elements = Eigen::Array<float, Eigen::Dynamic, 1>;

float larger(float score, float m) { return score > m ? score : m; }

// e^(score − m).
float softmax_weight(float score, float m) { return exact_exp2((score - m) * kLog2E); }

// The result of a row that has seen all its keys. The sink's weight joins the sum, the sum divides. A row
// without a visible key gives zeros, and its sink as LSE.
void normalise(const Params& params,
               std::int64_t token_idx,
               std::int64_t head_idx,
               bool sees_a_key,
               float m,
               float l,
               const float* acc,
               std::int64_t stride) {
  const float sink = params.sinks != nullptr ? params.sinks[head_idx] : kMinusInfinity;
  float* output =
      params.output + (token_idx * params.num_query_heads + head_idx) * params.head_size_v;
  float* lse = params.lse + head_idx * params.num_tokens + token_idx;
  if (!sees_a_key) {
    *lse = sink;  // the output is zero already
    return;
  }
  const float m_with_sink = larger(sink, m);
  const float rescale = softmax_weight(m, m_with_sink);
  l = l * rescale;
  if (params.sinks != nullptr) l = l + softmax_weight(sink, m_with_sink);
  for (std::int64_t d = 0; d < params.head_size_v; ++d) {
    output[d] = canonical_nan(acc[d * stride] * rescale / l);
  }
  *lse = canonical_nan(m_with_sink + exact_log(l));
}

}  // namespace

void finish_row(const Params& params,
                const Task& task,
                Scratch& scratch,
                std::int64_t row,
                const float* acc,
                std::int64_t stride) {
  const float m = scratch.m.data()[row];
  const float l = scratch.l.data()[row];
  if (task.first_partial_row == kNotPartial) {
    const bool sees_a_key = scratch.begins[row] < scratch.ends[row];
    normalise(params, token_of(params, task, row), head_of(params, task, row), sees_a_key, m, l,
              acc, stride);
    return;
  }
  const std::int64_t partial_row = task.first_partial_row + row;
  params.partial_m[partial_row] = m;
  params.partial_l[partial_row] = l;
  float* partial_acc = params.partial_acc + partial_row * params.head_size_v;
  for (std::int64_t d = 0; d < params.head_size_v; ++d) partial_acc[d] = acc[d * stride];
}

void merge_parts(const Params& params, const Task& task, std::int64_t num_parts) {
  const std::int64_t query_len =
      params.query_start_loc[task.req_idx + 1] - params.query_start_loc[task.req_idx];
  Elements acc(params.head_size_v);
  for (std::int64_t row = 0; row < task.num_rows; ++row) {
    float m = kMinusInfinity;
    float l = 0.0f;
    acc.setZero();
    for (std::int64_t part = 0; part < num_parts; ++part) {
      const std::int64_t partial_row = task.first_partial_row + part * task.num_rows + row;
      const float part_m = params.partial_m[partial_row];
      const float new_m = larger(part_m, m);
      const float shift = new_m == kMinusInfinity ? 0.0f : new_m;
      const float rescale = softmax_weight(m, shift);
      const float part_rescale = softmax_weight(part_m, shift);
      const Eigen::Map<const Elements> part_acc(
          params.partial_acc + partial_row * params.head_size_v, params.head_size_v);
      l = l * rescale + params.partial_l[partial_row] * part_rescale;
      acc = acc * rescale + part_acc * part_rescale;
      m = new_m;
    }
    const std::int64_t query_idx = (task.first_row + row) / params.group_size();
    const std::int64_t position = params.seq_lens[task.req_idx] - query_len + query_idx;
    const KeyRange visible = visible_keys(params, task.req_idx, position);
    normalise(params, token_of(params, task, row), head_of(params, task, row),
              visible.begin < visible.end, m, l, acc.data(), 1);
  }
}

}  // namespace pagelab::cpu_attn
