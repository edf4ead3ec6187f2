// pagelab measure attention: every rung and backend on chosen shapes, timed on a GPU or a CPU, counted in the
// simulator.

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"
#include "cli/measurements.h"
#include "cli/option_values.h"
#include "cli/roofline.h"
#include "cli/targets.h"
#include "reference/contract/error.h"
#include "reference/contract/suggestion.h"

namespace pagelab::cli {
namespace {

struct MeasureOptions {
  std::string what;
  std::vector<std::string> shapes;
  std::string target;  // empty: cuda, or the simulator where there is no GPU
  std::string dtype = "bfloat16";
  std::optional<std::int64_t> num_query_heads;
  std::optional<std::int64_t> num_kv_heads;
  std::optional<std::int64_t> head_size;
  std::int64_t block_size = 16;
  RuleOptions rules;
  std::string from;
  std::string svg;
  bool json = false;
};

struct Report {
  std::string target;
  std::string device;
  std::string why_no_gpu;  // where the simulator stands in for one
  MeasuredLayer layer;
  std::optional<MeasuredLimits> limits;
  std::vector<Measurement> measurements;
};

// A Llama-3-8B layer on real hardware, something smaller in the simulator, which counts every access.
MeasuredLayer layer_of(const MeasureOptions& options, bool is_simulated) {
  MeasuredLayer layer;
  layer.num_query_heads = options.num_query_heads.value_or(is_simulated ? 8 : 32);
  layer.num_kv_heads = options.num_kv_heads.value_or(is_simulated ? 2 : 8);
  layer.head_size = options.head_size.value_or(is_simulated ? 64 : 128);
  layer.block_size = options.block_size;
  if (options.dtype == "float32") layer.dtype = DType::kFloat32;
  if (options.dtype == "float16") layer.dtype = DType::kFloat16;
  require_valid(layer);
  return layer;
}

std::vector<MeasuredShape> shapes_of(const MeasureOptions& options,
                                     const std::string& target,
                                     const MeasuredLayer& layer) {
  std::vector<std::string> texts = options.shapes;
  if (texts.empty() && target == "cuda")
    texts = {"decode:64x8192", "prefill:1x16384", "cascade:64x8192x256"};
  if (texts.empty() && target == "cpu")
    texts = {"decode:8x1024", "prefill:1x256", "cascade:8x1024x64"};
  if (texts.empty()) texts = {"decode:2x600", "prefill:1x70", "cascade:4x256x20"};
  std::vector<MeasuredShape> shapes;
  for (const std::string& text : texts) {
    shapes.push_back(shape_of(text));
    require_valid(shapes.back(), layer);
  }
  return shapes;
}

void append(std::vector<Measurement>& all, const std::vector<Measurement>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

Report measure(const MeasureOptions& options) {
  Report report;
  report.target = options.target;
  const std::vector<std::string> targets = {"cpu", "simulator", "cuda"};
  if (report.target.empty()) {
    report.target = cuda_is_available(&report.why_no_gpu) ? "cuda" : "simulator";
  } else if (std::find(targets.begin(), targets.end(), report.target) == targets.end()) {
    const std::string wanted = report.target == "gpu" ? "cuda" : report.target;
    throw Error(fmt::format("there is no target {}{}; the targets are cpu, simulator, cuda.",
                            report.target, did_you_mean(wanted, targets)));
  }
  const bool is_simulated = report.target == "simulator";
  report.layer = layer_of(options, is_simulated);
  const std::vector<MeasuredShape> shapes = shapes_of(options, report.target, report.layer);
  const std::optional<DeviceCapability> as_vllm = capability_as_vllm(options.rules, report.target);
  if (report.target == "cpu") {
    report.device = "CPU";
    for (const MeasuredShape& shape : shapes) {
      append(report.measurements, measure_backends("cpu", shape, report.layer, as_vllm));
    }
    return report;
  }
  const std::shared_ptr<Device> device = is_simulated ? checked_simulator_device() : cuda_device();
  report.device = device->name();
  if (!is_simulated) report.limits = measure_limits();
  for (const MeasuredShape& shape : shapes) {
    append(report.measurements, measure_kernels(device, shape, report.layer));
    if (shape.has_prefix()) {
      append(report.measurements, measure_cascades(device, shape, report.layer));
    }
    // The simulator has no times of backends, but which of them vLLM would decline can be said.
    append(report.measurements,
           is_simulated ? declined_backends(report.target, shape, report.layer, as_vllm)
                        : measure_backends(report.target, shape, report.layer, as_vllm));
  }
  return report;
}

// Bytes of global memory that requests of all kinds touched, whole sectors.
double sector_bytes(const simt::Counters& counters) {
  double sectors = 0.0;
  for (const simt::MemoryKind kind :
       {simt::MemoryKind::kGlobalLoad, simt::MemoryKind::kGlobalStore,
        simt::MemoryKind::kGlobalAtomic, simt::MemoryKind::kAsyncCopy}) {
    sectors += static_cast<double>(counters.of(kind).sectors);
  }
  return 32.0 * sectors;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100.0 * share); }

std::string row_of(const Measurement& row, const std::optional<MeasuredLimits>& limits) {
  const std::string name = fmt::format("{:<30} {:<18}", row.name, row.shape);
  if (!row.refusal.empty()) return fmt::format("{} {}\n", name, row.refusal);
  if (row.counters) {
    const simt::MemoryCounts memory = row.counters->all_memory();
    return fmt::format("{} {:>10} {:>12.0f} {:>8.2f} {:>9} {:>10} {:>8}\n", name, memory.requests,
                       sector_bytes(*row.counters), sector_bytes(*row.counters) / row.work.bytes,
                       memory.conflicts, row.counters->of(simt::WordKind::kMma),
                       row.counters->of(simt::WordKind::kBarrier));
  }
  const double bandwidth = row.work.bytes / *row.seconds;
  const double rate = row.work.operations / *row.seconds;
  const bool has_rate = limits && limits->operations_per_second;
  return fmt::format("{} {:>12.3f} {:>9.1f} {:>9.3f} {:>8} {:>8}{}\n", name, *row.seconds * 1e3,
                     bandwidth * 1e-9, rate * 1e-12,
                     limits ? percent(bandwidth / limits->read_bytes_per_second) : "-",
                     has_rate ? percent(rate / *limits->operations_per_second) : "-",
                     row.is_kernel || !limits ? "" : "  with its copies");
}

void print_table(const Report& report) {
  const MeasuredLayer& layer = report.layer;
  fmt::print("{} query heads on {} KV heads of {}, {}, blocks of {} tokens, causal; {}\n",
             layer.num_query_heads, layer.num_kv_heads, layer.head_size, to_string(layer.dtype),
             layer.block_size, report.device);
  const bool is_counted = report.target == "simulator";
  if (is_counted) {
    if (!report.why_no_gpu.empty()) {
      fmt::print("No GPU: {}. ", report.why_no_gpu);
    }
    fmt::print("The simulator counts, it knows no times. Backends launch these kernels.\n\n");
    fmt::print("{:<30} {:<18} {:>10} {:>12} {:>8} {:>9} {:>10} {:>8}\n", "", "shape", "requests",
               "sector bytes", "/ needed", "conflicts", "mma", "barriers");
  } else {
    if (report.limits) {
      const auto& rate = report.limits->operations_per_second;
      fmt::print("limits of this run: {:.0f} GB/s read, {}\n",
                 report.limits->read_bytes_per_second * 1e-9,
                 rate ? fmt::format("{:.0f} TFLOP/s by cuBLAS in bfloat16", *rate * 1e-12)
                      : std::string("no cuBLAS here to compare with"));
    }
    fmt::print("\n{:<30} {:<18} {:>12} {:>9} {:>9} {:>8} {:>8}\n", "", "shape", "ms", "GB/s",
               "TFLOP/s", "of read", "of matrix");
  }
  for (const Measurement& row : report.measurements) fmt::print("{}", row_of(row, report.limits));
}

nlohmann::ordered_json json_of(const Report& report) {
  nlohmann::ordered_json document;
  document["target"] = report.target;
  document["device"] = report.device;
  document["layer"] = {{"num_query_heads", report.layer.num_query_heads},
                       {"num_kv_heads", report.layer.num_kv_heads},
                       {"head_size", report.layer.head_size},
                       {"block_size", report.layer.block_size},
                       {"dtype", to_string(report.layer.dtype)}};
  if (report.limits) {
    document["limits"]["read_bytes_per_second"] = report.limits->read_bytes_per_second;
    if (report.limits->operations_per_second) {
      document["limits"]["operations_per_second"] = *report.limits->operations_per_second;
    }
  }
  document["measurements"] = nlohmann::ordered_json::array();
  for (const Measurement& row : report.measurements) {
    nlohmann::ordered_json entry = {{"name", row.name},
                                    {"kind", row.is_kernel ? "kernel" : "backend"},
                                    {"shape", row.shape},
                                    {"operations", row.work.operations},
                                    {"bytes", row.work.bytes}};
    if (!row.refusal.empty()) entry["refusal"] = row.refusal;
    if (row.seconds) entry["seconds"] = *row.seconds;
    if (row.counters) {
      const simt::MemoryCounts memory = row.counters->all_memory();
      entry["counters"] = {{"requests", memory.requests},
                           {"sector_bytes", sector_bytes(*row.counters)},
                           {"conflicts", memory.conflicts},
                           {"mma", row.counters->of(simt::WordKind::kMma)},
                           {"barriers", row.counters->of(simt::WordKind::kBarrier)}};
    }
    document["measurements"].push_back(entry);
  }
  return document;
}

void write_svg(const std::string& path, const Report& report) {
  std::ofstream file(path);
  file << roofline_svg(report.device, *report.limits, report.measurements);
  file.close();
  if (!file) throw Error(fmt::format("--svg: {} could not be written.", path));
}

// A number that has a place on an axis of decades.
double drawable(const nlohmann::json& object, const char* field) {
  const double value = object.at(field);
  if (value >= 1e-12 && value <= 1e30) return value;
  throw Error(fmt::format("--from: {} is {}; it must be from 1e-12 to 1e30.", field, value));
}

// The report that --json printed, on this machine or another. Counters are not read: nothing is drawn of them.
Report report_of(const nlohmann::json& document) {
  Report report;
  report.target = document.at("target");
  report.device = document.at("device");
  if (document.contains("limits")) {
    report.limits.emplace();
    report.limits->read_bytes_per_second = drawable(document["limits"], "read_bytes_per_second");
    if (document["limits"].contains("operations_per_second")) {
      report.limits->operations_per_second = drawable(document["limits"], "operations_per_second");
    }
  }
  for (const nlohmann::json& entry : document.at("measurements")) {
    Measurement row;
    row.name = entry.at("name");
    row.is_kernel = entry.at("kind") == "kernel";
    row.shape = entry.at("shape");
    row.work.operations = drawable(entry, "operations");
    row.work.bytes = drawable(entry, "bytes");
    if (entry.contains("seconds")) row.seconds = drawable(entry, "seconds");
    report.measurements.push_back(row);
  }
  return report;
}

// Draws a report that was printed before.
int draw(const MeasureOptions& options) {
  if (options.svg.empty()) throw Error("--from needs --svg, the file to draw into.");
  if (options.rules.as_vllm || !options.rules.gpu.empty()) {
    throw Error("--from draws what was measured before: leave --as-vllm and --gpu out.");
  }
  std::ifstream file(options.from);
  if (!file || std::filesystem::is_directory(options.from)) {
    throw Error(fmt::format("--from: {} could not be read.", options.from));
  }
  Report report;
  try {
    report = report_of(nlohmann::json::parse(file));
  } catch (const nlohmann::json::exception& error) {
    throw Error(fmt::format("--from: {} is no report of measure attention --json: {}.",
                            options.from, error.what()));
  }
  const bool has_times = report.limits && report.limits->read_bytes_per_second > 0.0;
  if (!has_times) {
    throw Error(
        fmt::format("--from: {} was not measured on a GPU: it has no limits.", options.from));
  }
  write_svg(options.svg, report);
  return 0;
}

int run_measure(const MeasureOptions& options) {
  if (options.what != "attention") {
    throw Error(fmt::format("'{}' cannot be measured{}: attention can.", options.what,
                            did_you_mean(options.what, {"attention"})));
  }
  if (!options.from.empty()) return draw(options);
  const bool has_times =
      options.target == "cuda" || (options.target.empty() && cuda_is_available());
  if (!options.svg.empty() && !has_times) {
    throw Error(
        "--svg draws times against the limits of a GPU: it needs --target cuda, and a GPU.");
  }
  const Report report = measure(options);
  if (!options.svg.empty()) write_svg(options.svg, report);
  if (options.json) {
    fmt::print("{}\n", json_of(report).dump(2));
  } else {
    print_table(report);
  }
  return 0;
}

}  // namespace

void add_measure_command(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<MeasureOptions>();
  CLI::App* command = app.add_subcommand(
      "measure", "Time every rung and backend on a GPU, or count what rungs do in the simulator");
  command->add_option("WHAT", options->what, "attention")->required()->check(not_empty());
  command
      ->add_option("--shapes", options->shapes,
                   "decode:REQUESTSxKEYS, prefill:REQUESTSxKEYS, extend:REQUESTSxQUERIESxKEYS or "
                   "cascade:REQUESTSxPREFIXxOWN, decodes whose first keys are the same")
      ->delimiter(',')
      ->check(not_empty());
  command
      ->add_option("--target", options->target,
                   "cuda, simulator or cpu; left out: the GPU if there is one, or the simulator")
      ->check(not_empty());
  command->add_option("--dtype", options->dtype, "of queries and cache")
      ->capture_default_str()
      ->check(one_of({"float32", "float16", "bfloat16"}));
  command->add_option("--num-query-heads", options->num_query_heads, "32; 8 in the simulator")
      ->check(whole_number());
  command->add_option("--num-kv-heads", options->num_kv_heads, "8; 2 in the simulator")
      ->check(whole_number());
  command->add_option("--head-size", options->head_size, "128; 64 in the simulator")
      ->check(whole_number());
  command->add_option("--block-size", options->block_size, "tokens of a KV block")
      ->capture_default_str()
      ->check(whole_number());
  add_rule_options(*command, options->rules);
  CLI::Option* from =
      command
          ->add_option("--from", options->from,
                       "what --json printed before: draw that into --svg, measure nothing")
          ->check(not_empty());
  command->add_option("--svg", options->svg, "write a roofline picture to this file")
      ->check(not_empty());
  command->add_flag("--json", options->json, "print one JSON document");
  for (const char* of_a_measurement : {"--shapes", "--target", "--dtype", "--num-query-heads",
                                       "--num-kv-heads", "--head-size", "--block-size", "--json"}) {
    from->excludes(command->get_option(of_a_measurement));
  }
  command->callback([options, &exit_status] { exit_status = run_measure(*options); });
}

}  // namespace pagelab::cli
