#include "reference/attention/merge_states.h"

#include <cmath>
#include <limits>

#include "reference/attention/query_group.h"
#include "reference/contract/refuse.h"

namespace pagelab {

namespace {

// An infinite LSE marks a set without keys, whichever its sign.
template <typename Real>
bool has_keys(const AttentionState<Real>& state) {
  return !std::isinf(state.lse.value);
}

template <typename Real>
void require_same_length(std::span<const AttentionState<Real>> states) {
  for (const AttentionState<Real>& state : states) {
    if (state.output.size() != states[0].output.size()) {
      refuse("an attention state has {} elements, but the first has {}.", state.output.size(),
             states[0].output.size());
    }
  }
}

// Row (token, head) of a batch's states.
template <typename Real>
AttentionState<Real> state_of(const AttentionStates& states,
                              std::int64_t token_idx,
                              std::int64_t head_idx) {
  const TensorView<const Real, 3> outputs = states.output.view<Real, 3>();
  const Real* output = outputs.row(token_idx, head_idx);
  const Real lse = states.lse.view<Real, 2>()(head_idx, token_idx);
  return {std::vector<Real>(output, output + outputs.shape[2]), {lse}};
}

template <typename Real>
AttentionStates merge_rows(const AttentionStates& prefix, const AttentionStates& suffix) {
  AttentionStates merged = prefix;
  const TensorView<Real, 3> output = merged.output.view<Real, 3>();
  const TensorView<Real, 2> lse = merged.lse.view<Real, 2>();
  for (std::int64_t token_idx = 0; token_idx < output.shape[0]; ++token_idx) {
    for (std::int64_t head_idx = 0; head_idx < output.shape[1]; ++head_idx) {
      const AttentionState<Real> row = merge_states(state_of<Real>(prefix, token_idx, head_idx),
                                                    state_of<Real>(suffix, token_idx, head_idx));
      std::copy(row.output.begin(), row.output.end(), output.row(token_idx, head_idx));
      lse(head_idx, token_idx) = row.lse.value;
    }
  }
  return merged;
}

void require_states(const char* name, const AttentionStates& states) {
  const DType dtype = states.output.dtype();
  if (dtype != DType::kFloat64 && dtype != DType::kFloat32) {
    refuse("the {}'s output is {}; it must be float64 or float32.", name, to_string(dtype));
  }
  if (states.lse.dtype() != dtype) {
    refuse("the {}'s output is {}, but its lse is {}.", name, to_string(dtype),
           to_string(states.lse.dtype()));
  }
  const Shape& shape = states.output.shape();
  if (shape.size() != 3 || states.lse.shape() != Shape{shape[1], shape[0]}) {
    refuse(
        "the {}'s output has shape {} and its lse {}; [T, heads, size] and [heads, T] are needed.",
        name, to_string(shape), to_string(states.lse.shape()));
  }
}

}  // namespace

template <typename Real>
AttentionState<Real> empty_state(std::int64_t head_size_v) {
  return {std::vector<Real>(static_cast<std::size_t>(head_size_v)), {kMinusInfinity<Real>}};
}

template <typename Real>
AttentionState<Real> merge_states(std::span<const AttentionState<Real>> states) {
  if (states.empty()) refuse("merge_states was given no state; it needs at least one.");
  require_same_length(states);

  // Only sets that have keys take part: 0 · NaN would be NaN.
  std::vector<const AttentionState<Real>*> parts;
  Real m = kMinusInfinity<Real>;
  for (const AttentionState<Real>& state : states) {
    if (!has_keys(state)) continue;
    parts.push_back(&state);
    m = larger(state.lse.value, m);
  }
  if (parts.empty()) {
    return empty_state<Real>(static_cast<std::int64_t>(states[0].output.size()));
  }
  if (parts.size() == 1) return *parts[0];

  std::vector<Real> weights;
  Real sum = 0;
  for (const AttentionState<Real>* part : parts) {
    const Real weight = softmax_weight(part->lse.value, m);
    weights.push_back(weight);
    sum = sum + weight;
  }

  // Each share is formed before it meets an output, so nothing overflows.
  AttentionState<Real> merged =
      empty_state<Real>(static_cast<std::int64_t>(states[0].output.size()));
  for (std::size_t part_idx = 0; part_idx < parts.size(); ++part_idx) {
    const Real share = weights[part_idx] / sum;
    for (std::size_t d = 0; d < merged.output.size(); ++d) {
      const Real contribution = share * parts[part_idx]->output[d];
      merged.output[d] = merged.output[d] + contribution;
    }
  }
  for (Real& element : merged.output) element = canonical_nan(element);
  merged.lse.value = canonical_nan(m + exact_log(sum));
  return merged;
}

template <typename Real>
AttentionState<Real> merge_states(const AttentionState<Real>& a, const AttentionState<Real>& b) {
  const AttentionState<Real> both[] = {a, b};
  return merge_states(std::span<const AttentionState<Real>>(both));
}

AttentionStates merge_states(const AttentionStates& prefix, const AttentionStates& suffix) {
  require_states("prefix", prefix);
  require_states("suffix", suffix);
  if (prefix.output.dtype() != suffix.output.dtype()) {
    refuse("the prefix is {}, but the suffix {}.", to_string(prefix.output.dtype()),
           to_string(suffix.output.dtype()));
  }
  if (prefix.output.shape() != suffix.output.shape()) {
    refuse("the prefix's output has shape {}, but the suffix's {}.",
           to_string(prefix.output.shape()), to_string(suffix.output.shape()));
  }
  return prefix.output.dtype() == DType::kFloat32 ? merge_rows<float>(prefix, suffix)
                                                  : merge_rows<double>(prefix, suffix);
}

template AttentionState<float> empty_state(std::int64_t);
template AttentionState<double> empty_state(std::int64_t);
template AttentionState<float> merge_states(std::span<const AttentionState<float>>);
template AttentionState<double> merge_states(std::span<const AttentionState<double>>);
template AttentionState<float> merge_states(const AttentionState<float>&,
                                            const AttentionState<float>&);
template AttentionState<double> merge_states(const AttentionState<double>&,
                                             const AttentionState<double>&);

}  // namespace pagelab
