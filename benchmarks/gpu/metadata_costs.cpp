// metadata_costs: how long the CPU is busy with a step's arrays before the GPU can begin. These are the figures metadata_us and
// metadata_us_per_request of `pagelab simulate` (simulator/engine/timeline/timeline_costs.cpp), printed as its lines.
//
// Steps of n decodes as the simulated engine has them: behind 8192 tokens each, in blocks of 16, with block tables as
// wide as Llama 3.1's 131,072 tokens need, padded to a recorded graph. Medians of 200 rounds by the host's clock, in us:
//
//     first     prepare_step: the first model runner's graph and arrays
//     second    prepare_sorted_step: the second one's order, graph and arrays
//     copies    PersistentBatch::update: checks them, and copies them to where recorded graphs read
//     FA, FI    what FLASH_ATTN and FLASHINFER plan on the host. FLASHINFER's copies of its plan are not in it.
//     sum       second + copies + FA, the defaults on an H200
//
// A line constant + slope · n is laid through each column so that the squares of relative errors are least: else only
// the largest step would count. Without a GPU the copies go to the simulator's memory, and the program says so.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "gpu/backends/flash_attn.h"
#include "gpu/backends/flashinfer_plan.h"
#include "gpu/backends/persistent_batch.h"
#include "reference/contract/error.h"
#include "simulator/engine/cudagraph/capture_sizes.h"
#include "simulator/engine/step/prepared_step.h"

using namespace pagelab;

namespace {

constexpr std::int64_t kSeqLen = 8192;
constexpr std::int64_t kMaxSeqLen = 131072;
constexpr std::int64_t kBlockSize = 16;
constexpr std::int64_t kMostRequests = 256;
constexpr int kRounds = 200;
constexpr std::array<std::int64_t, 4> kNumRequests = {1, 16, 64, 256};
constexpr std::array<const char*, 6> kColumns = {"first", "second", "copies", "FA", "FI", "sum"};
using Costs = std::array<double, kColumns.size()>;

constexpr StepLayout kLayout = {.block_size = kBlockSize,
                                .max_blocks_per_req = kMaxSeqLen / kBlockSize};

// Each request's blocks lie scattered, as those of requests do that have grown side by side.
std::vector<StepRequest> decodes(std::int64_t num_reqs) {
  std::vector<StepRequest> requests;
  for (std::int64_t req_idx = 0; req_idx < num_reqs; ++req_idx) {
    StepRequest request = {{.num_scheduled_tokens = 1, .num_computed_tokens = kSeqLen - 1}, {}};
    for (std::int64_t block = 0; block < kSeqLen / kBlockSize; ++block) {
      request.block_ids.push_back(static_cast<std::int32_t>(1 + block * num_reqs + req_idx));
    }
    requests.push_back(request);
  }
  return requests;
}

PersistentBatchSizes sizes_of_llama() {
  return {.max_num_tokens = kMostRequests,
          .max_num_reqs = kMostRequests,
          .max_blocks_per_req = kLayout.max_blocks_per_req,
          .num_query_heads = 32,
          .query_dtype = DType::kBFloat16,
          .cache = {.num_blocks = 1 + kMostRequests * kSeqLen / kBlockSize,
                    .block_size = kBlockSize,
                    .num_kv_heads = 8,
                    .head_size = 128,
                    .head_size_v = 128,
                    .dtype = DType::kBFloat16},
          .scale = 0.09f};
}

template <typename Work>
double median_us(const Work& work) {
  work();  // memory is taken at the first
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const auto end = std::chrono::steady_clock::now();
    times.push_back(std::chrono::duration<double, std::micro>(end - start).count());
  }
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

Costs costs_of(std::int64_t num_reqs, PersistentBatch& batch) {
  const std::vector<std::int64_t> sizes = capture_sizes({.max_num_seqs = kMostRequests}).sizes;
  const CudagraphDispatcher dispatcher({.capture_sizes = sizes, .max_num_seqs = kMostRequests});
  const CudaGraphManager manager({.capture_sizes = sizes, .max_num_seqs = kMostRequests});
  const std::vector<StepRequest> requests = decodes(num_reqs);
  const CommonAttentionMetadata metadata =
      prepare_sorted_step(requests, kLayout, manager).step.metadata;
  Costs costs = {};
  std::int64_t seen = 0;  // what is computed is looked at, or it need not be computed
  costs[0] = median_us(
      [&] { seen += prepare_step(requests, kLayout, dispatcher).step.metadata.num_reqs(); });
  costs[1] = median_us(
      [&] { seen += prepare_sorted_step(requests, kLayout, manager).step.metadata.num_reqs(); });
  costs[2] = median_us([&] { batch.update(metadata); });
  costs[3] = median_us([&] { seen += build_flash_attn_metadata(metadata, {}).max_seq_len; });
  costs[4] = median_us([&] {
    seen +=
        plan_flashinfer(metadata, true, metadata.block_table, kBlockSize).decode.pages.num_reqs();
  });
  if (seen == 0) throw Error("nothing was planned.");
  costs[5] = costs[1] + costs[2] + costs[3];
  return costs;
}

struct Line {
  double constant;
  double slope;
};

// Least squares with weights w = 1 / y²: of (constant + slope · n − y) / y. No step takes less than no time, so where the
// best constant is below 0 (large tables leave the caches, and cost more a request), 0 is the best that there is.
Line line_through(const std::vector<Costs>& rows, std::size_t column) {
  double w_sum = 0, wn = 0, wy = 0, wnn = 0, wny = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto n = static_cast<double>(kNumRequests[row]);
    const double y = rows[row][column];
    const double w = 1 / (y * y);
    w_sum += w;
    wn += w * n;
    wy += w * y;
    wnn += w * n * n;
    wny += w * n * y;
  }
  const double slope = (w_sum * wny - wn * wy) / (w_sum * wnn - wn * wn);
  const double constant = (wy - slope * wn) / w_sum;
  return constant >= 0 ? Line{constant, slope} : Line{0, wny / wnn};
}

void print_row(const std::string& name, const Costs& costs) {
  fmt::print("| {:>8} |", name);
  for (const double cost : costs) fmt::print(" {:9.3f} |", cost);
  fmt::print("\n");
}

void print_lines_of_the_table(const Line& sum, const std::string& machine) {
  fmt::print("\nfor simulator/engine/timeline/timeline_costs.h:\n");
  fmt::print("  double metadata_us = {:.1f};\n", sum.constant);
  fmt::print("  double metadata_us_per_request = {:.2f};\n", sum.slope);
  fmt::print("for simulator/engine/timeline/timeline_costs.cpp, kMetadataSource:\n");
  fmt::print(
      "  \"pagelab's step builder, copies and FLASH_ATTN's plan on {}, decodes behind 8192 tokens "
      "\"\n"
      "  \"(metadata_costs; docs/measurements/...)\"\n",
      machine);
}

void measure(const std::shared_ptr<Device>& device) {
  PersistentBatch batch(device, sizes_of_llama());
  fmt::print("| {:>8} |", "requests");
  for (const char* column : kColumns) fmt::print(" {:>9} |", column);
  fmt::print("\n");
  std::vector<Costs> rows;
  for (const std::int64_t num_reqs : kNumRequests) {
    rows.push_back(costs_of(num_reqs, batch));
    print_row(fmt::format("{}", num_reqs), rows.back());
  }
  Costs constants;
  Costs slopes;
  for (std::size_t column = 0; column < kColumns.size(); ++column) {
    const Line line = line_through(rows, column);
    constants[column] = line.constant;
    slopes[column] = line.slope;
  }
  print_row("constant", constants);
  print_row("slope", slopes);
  print_lines_of_the_table({constants.back(), slopes.back()}, device->name());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    fmt::print(stderr, "metadata_costs takes no arguments, so {} is too much.\n", argv[1]);
    return 2;
  }
  try {
    std::string why_not;
    const bool has_gpu = cuda_is_available(&why_not);
    if (!has_gpu) fmt::print("no GPU, {}: copies go to the simulator's memory.\n", why_not);
    const std::shared_ptr<Device> device = has_gpu ? cuda_device() : simulator_device();
    fmt::print("device: {}\n", device->name());
    measure(device);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
