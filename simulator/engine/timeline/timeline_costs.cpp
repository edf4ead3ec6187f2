#include "simulator/engine/timeline/timeline_costs.h"

#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "reference/contract/refuse.h"
#include "reference/contract/suggestion.h"

namespace pagelab {
namespace {

constexpr double kLargestCost = 1e9;

// Attention: a kernel's time is a constant and a part that grows with its work. Two measured shapes make that line.
//   paged_decode/7    64 x 1024: 0.268 GB in 98.5 us      64 x 8192: 2.147 GB in 565 us
//                     (565 - 98.5) us / 1.879 GB = 1 / (4028 GB/s);   98.5 us - 0.268 GB / (4028 GB/s) = 31.9 us
//   paged_prefill/3   2048: 34.36 GFLOP in 203 us         16384: 2199 GFLOP in 9520 us
//                     9317 us / 2164.7 GFLOP = 1 / (232.3 TFLOP/s);   203 us - 34.36 GFLOP / (232.3 TFLOP/s) = 55.1 us
constexpr CostOrigin kMeasured = CostOrigin::kMeasured;
constexpr const char* kMetadataSource =
    "pagelab's step builder, copies and FLASH_ATTN's plan on the host of an H200, decodes behind "
    "8192 "
    "tokens (metadata_costs; docs/measurements/2026-11-30-h200-metadata.txt)";
constexpr std::array<TimelineCost, 13> kCosts = {{
    {"schedule_us", &TimelineCosts::schedule_us, kMeasured,
     "CPU: schedule() and update_from_output() of a step",
     "vLLM 0.32.0's own classes on two cores of an AMD EPYC, 2,000 requests of Mooncake's trace: "
     "10.4 to 11.2 s for 14,903 steps"},
    {"metadata_us", &TimelineCosts::metadata_us, kMeasured,
     "CPU: building a step's arrays, copying them and planning its attention", kMetadataSource},
    {"metadata_us_per_request", &TimelineCosts::metadata_us_per_request, kMeasured,
     "CPU: the same, for each request more", kMetadataSource},
    {"kernels_per_layer", &TimelineCosts::kernels_per_layer, CostOrigin::kCounted,
     "kernels that a layer launches where no graph replays it",
     "vLLM's LlamaDecoderLayer: rms_norm, qkv_proj, rotary_embedding, reshape_and_cache_flash, "
     "attention, "
     "o_proj, fused_add_rms_norm, gate_up_proj, silu_and_mul, down_proj"},
    {"launch_us", &TimelineCosts::launch_us, kMeasured, "CPU: launching one kernel",
     "H200, 384 launches from C++ in 1432 us (docs/measurements/2026-11-30-h200-graphs.txt)"},
    {"replay_us", &TimelineCosts::replay_us, kMeasured, "CPU: replaying one graph",
     "H200, a graph of 384 launches (docs/measurements/2026-11-30-h200-graphs.txt)"},
    {"matrix_tflops", &TimelineCosts::matrix_tflops, kMeasured, "GPU: large matrix products",
     "H200, cuBLAS in bfloat16, 8192^3 (docs/measurements/2026-11-30-h200.txt)"},
    {"read_gbps", &TimelineCosts::read_gbps, kMeasured, "GPU: reading weights",
     "H200, read bandwidth (docs/measurements/2026-11-30-h200.txt)"},
    {"decode_us", &TimelineCosts::decode_us, kMeasured,
     "GPU: a layer's attention of decodes, whatever their length",
     "H200, paged_decode/7, 64 x 1024 and 64 x 8192 (docs/measurements/2026-11-30-h200.txt)"},
    {"decode_gbps", &TimelineCosts::decode_gbps, kMeasured,
     "GPU: the same, for the keys and values read", "the same two shapes"},
    {"extend_us", &TimelineCosts::extend_us, kMeasured,
     "GPU: a layer's attention of longer queries, whatever their length",
     "H200, paged_prefill/3, 2048 and 16384 tokens (docs/measurements/2026-11-30-h200.txt)"},
    {"extend_tflops", &TimelineCosts::extend_tflops, kMeasured,
     "GPU: the same, for the scores and values computed", "the same two shapes"},
    {"extend_gbps", &TimelineCosts::extend_gbps, kMeasured,
     "GPU: the same, for the keys and values read, where that takes longer",
     "H200, paged_prefill/3, extend:8x16x4096 (docs/measurements/2026-11-30-h200.txt)"},
}};

const TimelineCost& find_cost(const std::string& name) {
  std::vector<std::string> names;
  for (const TimelineCost& cost : kCosts) {
    if (cost.name == name) return cost;
    names.emplace_back(cost.name);
  }
  refuse("there is no cost {}{}; the costs are {}.", name, did_you_mean(name, names),
         fmt::join(names, ", "));
}

}  // namespace

std::span<const TimelineCost> timeline_costs() { return kCosts; }

void set_cost(TimelineCosts& costs, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos) {
    refuse("\"{}\" sets no cost; write NAME=VALUE, like launch_us=3.", assignment);
  }
  const TimelineCost& cost = find_cost(assignment.substr(0, equals));
  const std::string text = assignment.substr(equals + 1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  // Times may be 0; rates divide.
  const bool is_rate = cost.name.ends_with("tflops") || cost.name.ends_with("gbps");
  if (!is_number || !(value >= 0 && value <= kLargestCost) || (is_rate && value == 0)) {
    refuse("the cost {} is \"{}\"; it must be a number {} 0, and at most {}.", cost.name, text,
           is_rate ? "above" : "from", kLargestCost);
  }
  costs.*cost.value = value;
}

}  // namespace pagelab
