// What simulating a kernel costs, unchecked and with every check on.
//
//   naive_decode/<form>/…    multiply-adds a second of paged_decode/1_naive (2 of the scores' and 1 of
//                            the values' for each element, because it computes the scores twice)
//   barrier/<form>/…         nanoseconds a thread and __syncthreads, by threads of a thread block
//   shuffle/<form>/…         nanoseconds a thread and __shfl_xor_sync
//   thread_blocks/<form>/…   time by number of thread blocks: it must grow in proportion
//
// benchmarks/simulator/against_numba.py runs naive_decode beside the same kernel in Numba's simulator.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "benchmarks/simulator/barrier_kernels.h"
#include "gpu/backends/kernels_of.h"
#include "gpu/runtime/device_array.h"
#include "reference/cache/block_table.h"

using namespace pagelab;

namespace {

// The shape of against_numba.py.
constexpr std::int64_t kNumQueryHeads = 4;
constexpr std::int64_t kNumKvHeads = 2;
constexpr std::int64_t kHeadSize = 32;
constexpr std::int64_t kBlockSize = 8;

struct Form {
  std::string name;
  std::shared_ptr<Device> device;
  void (*launch_barriers)(const MeetParams&);
  void (*launch_shuffles)(const MeetParams&);
};

DeviceArray random_numbers(const std::shared_ptr<Device>& device,
                           std::int64_t count,
                           const char* name) {
  std::mt19937 random(20261129);
  std::uniform_real_distribution<float> numbers(-1.0f, 1.0f);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = numbers(random);
  return DeviceArray::copy_of(device, values, name);
}

void naive_decode(benchmark::State& state,
                  const Form& form,
                  std::int64_t num_reqs,
                  std::int64_t seq_len) {
  const std::shared_ptr<Device>& device = form.device;
  const std::int64_t blocks_per_req = blocks_for_tokens(seq_len, kBlockSize);
  const std::int64_t cache_elements =
      num_reqs * blocks_per_req * kBlockSize * kNumKvHeads * kHeadSize;
  std::vector<std::int32_t> blocks(static_cast<std::size_t>(num_reqs * blocks_per_req));
  std::iota(blocks.begin(), blocks.end(), 0);
  std::shuffle(blocks.begin(), blocks.end(), std::mt19937(7));
  std::vector<std::int32_t> start_loc(static_cast<std::size_t>(num_reqs + 1));
  std::iota(start_loc.begin(), start_loc.end(), 0);
  const std::vector<std::int32_t> lens(static_cast<std::size_t>(num_reqs),
                                       static_cast<std::int32_t>(seq_len));
  const std::int64_t num_rows = num_reqs * kNumQueryHeads;
  const DeviceArray block_table = DeviceArray::copy_of(device, blocks, "block_table");
  const DeviceArray query_start_loc = DeviceArray::copy_of(device, start_loc, "query_start_loc");
  const DeviceArray seq_lens = DeviceArray::copy_of(device, lens, "seq_lens");
  const DeviceArray scales =
      DeviceArray::copy_of(device, std::vector<float>(kNumKvHeads, 1.0f), "scales");
  const DeviceArray query = random_numbers(device, num_rows * kHeadSize, "query");
  const DeviceArray keys = random_numbers(device, cache_elements, "key_cache");
  const DeviceArray values = random_numbers(device, cache_elements, "value_cache");
  const DeviceArray output = random_numbers(device, num_rows * kHeadSize, "output");
  const DeviceArray lse = random_numbers(device, num_rows, "lse");

  PagedAttentionParams params;
  params.query = query.data();
  params.num_tokens = num_reqs;
  params.num_query_heads = kNumQueryHeads;
  params.num_kv_heads = kNumKvHeads;
  params.head_size = params.head_size_v = kHeadSize;
  params.num_reqs = num_reqs;
  params.query_start_loc = query_start_loc.as<std::int32_t>();
  params.seq_lens = seq_lens.as<std::int32_t>();
  params.block_table = block_table.as<std::int32_t>();
  params.max_blocks_per_req = blocks_per_req;
  params.key_cache = keys.data();
  params.value_cache = values.data();
  params.key_strides = {.block = kBlockSize * kNumKvHeads * kHeadSize,
                        .token = kNumKvHeads * kHeadSize,
                        .head = kHeadSize};
  params.value_strides = params.key_strides;
  params.block_size = kBlockSize;
  params.k_scales = params.v_scales = scales.as<float>();
  params.scale = 0.17677669f;  // 1/√32
  params.output = output.as<float>();
  params.lse = lse.as<float>();
  const KernelSet kernels = kernels_of(*device);
  const auto launch = kernels.paged_decode[0].launchers.at(DType::kFloat32, DType::kFloat32);
  for (auto _ : state) launch(params);
  const double multiply_adds = static_cast<double>(num_rows * seq_len * 3 * kHeadSize);
  state.counters["multiply_adds/s"] =
      benchmark::Counter(multiply_adds, benchmark::Counter::kIsIterationInvariantRate);
}

// Nanoseconds for each thread and meeting.
void meetings(benchmark::State& state,
              void (*launch)(const MeetParams&),
              unsigned int ctas,
              unsigned int threads) {
  MeetParams params;
  params.ctas = ctas;
  params.threads = threads;
  params.rounds = 1000;
  for (auto _ : state) launch(params);
  const double total = static_cast<double>(ctas) * threads * params.rounds;
  state.counters["ns/thread"] = benchmark::Counter(
      total * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void register_form(const Form& form) {
  const auto add = [](const std::string& name, const auto& run) {
    benchmark::RegisterBenchmark(name.c_str(), run)->UseRealTime()->Unit(benchmark::kMicrosecond);
  };
  for (const std::int64_t num_reqs : {64, 256}) {
    for (const std::int64_t seq_len : {64, 256, 1024}) {
      add("naive_decode/" + form.name + "/requests:" + std::to_string(num_reqs) +
              "/context:" + std::to_string(seq_len),
          [=](benchmark::State& state) { naive_decode(state, form, num_reqs, seq_len); });
    }
  }
  for (const unsigned int threads : {32u, 128u, 512u, 1024u}) {
    const std::string suffix = "/threads:" + std::to_string(threads);
    add("barrier/" + form.name + suffix,
        [=](benchmark::State& state) { meetings(state, form.launch_barriers, 1, threads); });
    add("shuffle/" + form.name + suffix,
        [=](benchmark::State& state) { meetings(state, form.launch_shuffles, 1, threads); });
  }
  for (const unsigned int ctas : {2u, 8u, 32u}) {
    add("thread_blocks/" + form.name + "/ctas:" + std::to_string(ctas),
        [=](benchmark::State& state) { meetings(state, form.launch_barriers, ctas, 128); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  register_form({"unchecked", simulator_device(), on_simulator::launch_barriers,
                 on_simulator::launch_shuffles});
  register_form({"checked", checked_simulator_device(), on_checked_simulator::launch_barriers,
                 on_checked_simulator::launch_shuffles});
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
