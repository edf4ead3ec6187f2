#include "simulator/engine/timeline/step_cost.h"

#include <algorithm>

namespace pagelab {
namespace {

constexpr double kPerTera = 1e6;  // operations a microsecond of 1 TFLOP/s
constexpr double kPerGiga = 1e3;  // bytes a microsecond of 1 GB/s

// One product: its weights are read once, and each row takes two operations a weight.
double product_us(std::int64_t num_weights,
                  std::int64_t num_rows,
                  const ServedModel& model,
                  const TimelineCosts& costs) {
  const double operations = 2.0 * static_cast<double>(num_weights) * static_cast<double>(num_rows);
  const double bytes = static_cast<double>(num_weights * model.element_size);
  return std::max(operations / (costs.matrix_tflops * kPerTera),
                  bytes / (costs.read_gbps * kPerGiga));
}

double matrices_us(const StepWork& work, const ServedModel& model, const TimelineCosts& costs) {
  const double of_layer =
      product_us(model.weights_per_layer(), work.num_padded_tokens, model, costs);
  const double of_logits = product_us(model.weights_of_logits(), work.num_reqs, model, costs);
  return of_layer * static_cast<double>(model.num_layers) + of_logits;
}

// One layer. Prefix and own tokens of a cascade step are two passes.
double decodes_us(const StepWork& work, const ServedModel& model, const TimelineCosts& costs) {
  if (work.num_decodes == 0) return 0;
  const std::int64_t bytes = decode_bytes(work, model, /*with_cascade=*/true) / model.num_layers;
  const double num_passes = work.cascade_prefix_len > 0 ? 2 : 1;
  return num_passes * costs.decode_us + static_cast<double>(bytes) / (costs.decode_gbps * kPerGiga);
}

// One layer. A score and a weighted value are two operations each for every element of a head.
double extends_us(const StepWork& work, const ServedModel& model, const TimelineCosts& costs) {
  if (work.num_extends == 0) return 0;
  const double operations = 4.0 * static_cast<double>(model.num_query_heads * model.head_size) *
                            static_cast<double>(work.extend_pairs);
  const auto bytes =
      static_cast<double>(work.extend_kv_tokens * model.kv_bytes_per_token_and_layer());
  return std::max(costs.extend_us + operations / (costs.extend_tflops * kPerTera),
                  bytes / (costs.extend_gbps * kPerGiga));
}

// A piecewise step replays what lies between the attention layers, and launches cache write and attention.
double launches_us(CUDAGraphMode mode, const ServedModel& model, const TimelineCosts& costs) {
  const auto num_layers = static_cast<double>(model.num_layers);
  if (mode == CUDAGraphMode::kFull) return costs.replay_us;
  if (mode == CUDAGraphMode::kPiecewise) {
    return (num_layers + 1) * costs.replay_us + num_layers * 2 * costs.launch_us;
  }
  return num_layers * costs.kernels_per_layer * costs.launch_us;
}

}  // namespace

StepWork work_of(std::span<const ScheduledRequest> requests) {
  StepWork work;
  work.num_reqs = static_cast<std::int64_t>(requests.size());
  for (const ScheduledRequest& request : requests) {
    const std::int64_t query_len = request.num_scheduled_tokens;
    if (query_len == 1) {
      ++work.num_decodes;
      work.decode_kv_tokens += request.seq_len();
    } else {
      ++work.num_extends;
      work.extend_kv_tokens += request.seq_len();
      // Query i of this step sees what was computed before, and i + 1 tokens of the step.
      work.extend_pairs +=
          query_len * request.num_computed_tokens + query_len * (query_len + 1) / 2;
    }
    work.num_padded_tokens += query_len;
  }
  return work;
}

std::int64_t decode_bytes(const StepWork& work, const ServedModel& model, bool with_cascade) {
  const std::int64_t num_rereads = work.num_decodes > 0 && with_cascade ? work.num_decodes - 1 : 0;
  const std::int64_t num_tokens = work.decode_kv_tokens - num_rereads * work.cascade_prefix_len;
  return num_tokens * model.kv_bytes_per_token_and_layer() * model.num_layers;
}

StepCost estimate(const StepWork& work, const ServedModel& model, const TimelineCosts& costs) {
  StepCost cost;
  cost.schedule_us = costs.schedule_us;
  cost.metadata_us =
      costs.metadata_us + costs.metadata_us_per_request * static_cast<double>(work.num_reqs);
  cost.matrices_us = matrices_us(work, model, costs);
  cost.attention_us = static_cast<double>(model.num_layers) *
                      (decodes_us(work, model, costs) + extends_us(work, model, costs));
  cost.launch_us = launches_us(work.graph_mode, model, costs);
  cost.gpu_us = std::max(cost.matrices_us + cost.attention_us, cost.launch_us);
  return cost;
}

}  // namespace pagelab
