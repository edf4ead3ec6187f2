// pagelab simulate: a trace of real requests through the serving engine.

#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "cli/commands.h"
#include "cli/simulate_options.h"
#include "simulator/engine/picture/engine_page.h"
#include "simulator/engine/picture/perfetto_file.h"
#include "simulator/engine/serve/serving_report.h"

namespace pagelab::cli {
namespace {

constexpr std::int64_t kDefaultPageSteps = 400;

// One line on stderr that is written over; nothing where nobody looks.
class ProgressBar {
 public:
  explicit ProgressBar(std::size_t num_requests)
      : num_requests_(static_cast<std::int64_t>(num_requests)), is_shown_(isatty(STDERR_FILENO)) {}
  ~ProgressBar() {
    if (is_shown_) fmt::print(stderr, "\r{:70}\r", "");
  }

  void show(const StepView& view) {
    const std::int64_t percent = 100 * view.num_finished / num_requests_;
    if (!is_shown_ || percent == shown_percent_) return;
    shown_percent_ = percent;
    fmt::print(stderr, "\r[{:=<{}}{: <{}}] {} of {} requests, step {} ", "", percent / 4, "",
               25 - percent / 4, view.num_finished, num_requests_, view.index + 1);
    std::fflush(stderr);
  }

 private:
  std::int64_t num_requests_;
  bool is_shown_;
  std::int64_t shown_percent_ = -1;
};

double percent_of(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

void print_spread(const char* name, const Spread& spread, double unit, int digits) {
  fmt::print("  {:<24}{:>10.{}f}{:>10.{}f}{:>10.{}f}{:>10.{}f}\n", name, spread.median / unit,
             digits, spread.p90 / unit, digits, spread.p99 / unit, digits, spread.max / unit,
             digits);
}

void print_engine(const SimulateOptions& options, const SimulatedEngine& engine) {
  const SchedulerConfig& scheduler = engine.settings.scheduler;
  fmt::print("Llama 3.1 8B in bfloat16 by the rules of {}: {}\n", options.gpu, engine.backend);
  fmt::print("  pool        {}\n", to_string(engine.capacity));
  fmt::print("  step        up to {} tokens of {} requests, {}\n", scheduler.max_num_batched_tokens,
             scheduler.max_num_seqs,
             scheduler.async_scheduling ? "scheduled while the one before is computed"
                                        : "one after another");
  fmt::print("  runner      {}\n", options.cascade ? "the first, with cascade attention"
                                                   : "the second, which has no cascade attention");
  for (const CudagraphDowngrade& downgrade : engine.graphs.downgrades) {
    fmt::print("  WARNING     {}\n              it would take {}\n", downgrade.warning,
               downgrade.remedy);
  }
}

void print_cache(const ServingReport& report, const SimulatedEngine& engine) {
  fmt::print("prefix cache\n");
  fmt::print("  hit rate    {:.2f} %: {} of {} prompt tokens were there already\n",
             percent_of(report.num_hit_tokens, report.num_prompt_tokens), report.num_hit_tokens,
             report.num_prompt_tokens);
  fmt::print("  pool        at most {} of {} blocks in use ({:.1f} %)\n", report.most_used_blocks,
             engine.capacity.num_blocks - 1,
             percent_of(report.most_used_blocks, engine.capacity.num_blocks - 1));
  if (report.num_preemptions == 0) {
    fmt::print("  preemptions none\n");
  } else {
    fmt::print("  preemptions {}, of {} different requests\n", report.num_preemptions,
               report.num_preempted_requests);
  }
}

void print_steps(const ServingReport& report) {
  fmt::print("steps: {}; {} decode only, {} mixed, {} prefill only\n", report.num_steps,
             report.num_decode_steps, report.num_mixed_steps, report.num_extend_steps);
  fmt::print("  {:<24}{:>10}{:>10}{:>10}{:>10}\n", "", "median", "90 %", "99 %", "most");
  print_spread("requests of a step", report.reqs_per_step, 1, 0);
  print_spread("tokens of a step", report.tokens_per_step, 1, 0);
  print_spread("requests that wait", report.waiting_per_step, 1, 0);
  fmt::print("CUDA graphs\n");
  for (const CUDAGraphMode mode :
       {CUDAGraphMode::kFull, CUDAGraphMode::kPiecewise, CUDAGraphMode::kNone}) {
    const GraphModeCount& count = report.graph_modes[static_cast<std::size_t>(mode)];
    fmt::print("  {:<12}{:>8} steps ({:.1f} %), {} tokens and {} of padding\n", to_string(mode),
               count.num_steps, percent_of(count.num_steps, report.num_steps), count.num_tokens,
               count.num_padded_tokens - count.num_tokens);
  }
}

void print_cascade_count(const char* what, const CascadeCount& count, std::int64_t num_steps) {
  fmt::print(
      "  {:<12}{:>8} steps ({:.1f} %), whose decodes read {:.3f} GB of keys and values flat, "
      "{:.3f} in a cascade\n",
      what, count.num_steps, percent_of(count.num_steps, num_steps), count.flat_bytes / 1e9,
      count.cascade_bytes / 1e9);
}

void print_cascade(const ServingReport& report) {
  fmt::print("cascade attention, where all requests of a step share a prefix\n");
  print_cascade_count("used", report.with_cascade, report.num_steps);
  print_cascade_count("does not pay", report.declined, report.num_steps);
}

void print_times(const ServingReport& report) {
  constexpr double kMs = 1000;
  const double seconds = report.duration_us / 1e6;
  fmt::print("timeline: {:.1f} s, {:.1f} requests and {:.0f} output tokens a second\n", seconds,
             report.num_requests / seconds, report.num_output_tokens / seconds);
  fmt::print("  {:<24}{:>10}{:>10}{:>10}{:>10}\n", "ms", "median", "90 %", "99 %", "most");
  print_spread("time to first token", report.ttft_us, kMs, 1);
  print_spread("time per token after it", report.tpot_us, kMs, 1);
  fmt::print(
      "  GPU         busy {:.1f} % of the time, and {:.2f} % idle because the CPU was late\n",
      percent_of(report.gpu_busy_us, report.duration_us),
      percent_of(report.gpu_gap_us, report.duration_us));
}

void print_costs(const TimelineCosts& costs, const SimulateOptions& options) {
  if (options.step_ms) {
    fmt::print("  costs       each step takes {} ms, as asked for\n", *options.step_ms);
    return;
  }
  fmt::print("  costs       measured; the GPU's are those of pagelab's kernels on an H200\n");
  if (!options.show_costs) {
    fmt::print("              (--show-costs says where each comes from, --cost changes one)\n");
    return;
  }
  for (const TimelineCost& cost : timeline_costs()) {
    fmt::print("    {:<24}{:>9}  {}\n      {}: {}\n", cost.name, costs.*cost.value, cost.what,
               cost.origin == CostOrigin::kMeasured ? "measured" : "counted", cost.source);
  }
}

void write_page(const SimulateOptions& options,
                const SimulatedEngine& engine,
                const ServedTrace& served,
                const StepRecorder& recorder) {
  EnginePage page;
  page.title = fmt::format("Requests of {}, step by step",
                           std::filesystem::path(options.trace).filename().string());
  page.summary =
      fmt::format("{} requests, {} steps; Llama 3.1 8B, {} by the rules of {}, {}",
                  served.requests.size(), served.steps.size(), engine.backend, options.gpu,
                  engine.settings.scheduler.async_scheduling ? "scheduled asynchronously"
                                                             : "one step after another");
  page.cache = engine.settings.cache;
  page.num_steps = static_cast<std::int64_t>(served.steps.size());
  write_engine_page(page, recorder, options.html);
}

int simulate(const SimulateOptions& options) {
  const SimulatedEngine engine = engine_of(options);
  const RequestTrace trace = repeated(read_trace(options.trace), options.copies);
  StepRecorder recorder(options.html_from.value_or(1),
                        options.html_steps.value_or(kDefaultPageSteps));
  ServedTrace served;
  {
    ProgressBar bar(trace.requests.size());
    served = serve_trace(trace, engine.settings, [&](const StepView& view) {
      bar.show(view);
      if (!options.html.empty()) recorder.record(view);
    });
  }
  if (!options.perfetto.empty()) write_perfetto_file(served, options.perfetto);
  if (!options.html.empty()) write_page(options, engine, served, recorder);
  const ServingReport report = report_of(served, engine.settings.model);
  fmt::print("{} requests of {}, {} prompt and {} output tokens\n", report.num_requests,
             options.trace, report.num_prompt_tokens, report.num_output_tokens);
  print_engine(options, engine);
  print_cache(report, engine);
  print_steps(report);
  if (options.cascade) print_cascade(report);
  print_times(report);
  print_costs(engine.settings.costs, options);
  fmt::print(
      "one core of this machine: {:.3f} s in schedule and update, {:.3f} s in building requests\n",
      served.engine_seconds, served.building_seconds);
  return 0;
}

}  // namespace

void add_simulate_command(CLI::App& app, int& exit_status) {
  CLI::App* command = app.add_subcommand(
      "simulate",
      "the serving engine over a trace of requests: cache hits, batches, graphs, times");
  auto options = std::make_shared<SimulateOptions>();
  add_simulate_options(*command, *options);
  command->callback([options, &exit_status] { exit_status = simulate(*options); });
}

}  // namespace pagelab::cli
