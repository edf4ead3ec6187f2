#include "simulator/engine/serve/serving_report.h"

#include <algorithm>
#include <cmath>

namespace pagelab {
namespace {

void add_requests(ServingReport& report, const ServedTrace& served) {
  std::vector<double> ttft_us, tpot_us;
  for (const ServedRequest& request : served.requests) {
    report.num_prompt_tokens += request.num_prompt_tokens;
    report.num_output_tokens += request.num_output_tokens;
    report.num_hit_tokens += request.num_hit_tokens;
    report.num_preemptions += request.num_preemptions;
    report.num_preempted_requests += request.num_preemptions > 0 ? 1 : 0;
    report.duration_us = std::max(report.duration_us, request.last_token_us);
    ttft_us.push_back(request.first_token_us - request.arrival_us);
    if (request.num_output_tokens < 2) continue;
    tpot_us.push_back((request.last_token_us - request.first_token_us) /
                      (request.num_output_tokens - 1));
  }
  report.num_requests = static_cast<std::int64_t>(served.requests.size());
  report.ttft_us = spread_of(std::move(ttft_us));
  report.tpot_us = spread_of(std::move(tpot_us));
}

void add_shape(ServingReport& report, const ServedStep& step) {
  const StepWork& work = step.work;
  if (work.num_extends == 0) {
    ++report.num_decode_steps;
  } else {
    ++(work.num_decodes == 0 ? report.num_extend_steps : report.num_mixed_steps);
  }
  GraphModeCount& mode = report.graph_modes[static_cast<std::size_t>(work.graph_mode)];
  ++mode.num_steps;
  mode.num_tokens += step.num_tokens;
  mode.num_padded_tokens += work.num_padded_tokens;
  report.most_used_blocks = std::max(report.most_used_blocks, step.num_used_blocks);
}

void add_cascade(ServingReport& report, const ServedStep& step, const ServedModel& model) {
  if (step.work.num_reqs < 2 || step.shared_prefix_len == 0) return;
  const bool is_used = step.work.cascade_prefix_len > 0;
  StepWork work = step.work;
  work.cascade_prefix_len = step.shared_prefix_len;
  CascadeCount& count = is_used ? report.with_cascade : report.declined;
  ++count.num_steps;
  count.flat_bytes += decode_bytes(work, model, /*with_cascade=*/false);
  count.cascade_bytes += decode_bytes(work, model, /*with_cascade=*/true);
}

void add_steps(ServingReport& report, const ServedTrace& served, const ServedModel& model) {
  std::vector<double> reqs, tokens, waiting;
  const ServedStep* before = nullptr;
  for (const ServedStep& step : served.steps) {
    add_shape(report, step);
    add_cascade(report, step, model);
    reqs.push_back(static_cast<double>(step.work.num_reqs));
    tokens.push_back(static_cast<double>(step.num_tokens));
    waiting.push_back(step.num_waiting);
    report.gpu_busy_us += step.cost.gpu_us;
    // Where the CPU began with this step before or when the one before was done, the GPU waited for the CPU alone.
    if (before != nullptr && step.times.schedule_start_us <= before->times.gpu_end_us) {
      report.gpu_gap_us += step.times.gpu_start_us - before->times.gpu_end_us;
    }
    before = &step;
  }
  report.num_steps = static_cast<std::int64_t>(served.steps.size());
  report.reqs_per_step = spread_of(std::move(reqs));
  report.tokens_per_step = spread_of(std::move(tokens));
  report.waiting_per_step = spread_of(std::move(waiting));
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto value_at = [&values](double share) {
    const auto rank =
        static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
    return values[std::max<std::size_t>(rank, 1) - 1];
  };
  return {value_at(0.5), value_at(0.9), value_at(0.99), values.back()};
}

ServingReport report_of(const ServedTrace& served, const ServedModel& model) {
  ServingReport report;
  add_requests(report, served);
  add_steps(report, served, model);
  return report;
}

}  // namespace pagelab
