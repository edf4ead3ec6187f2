// The ladders of small kernels on a GPU, every rung on the same work. "GB/s" counts each byte that has
// to move once; a launcher that launches several kernels is timed as a whole.

#include <random>
#include <string>
#include <vector>

#include "benchmarks/gpu/timing.h"
#include "gpu/backends/kernels_of.h"

namespace pagelab::bench {
namespace {

constexpr unsigned int kThreadsPerCta = 256;

void reduce(benchmark::State& state, const Rung<BlockReduceParams>& rung) {
  constexpr std::int64_t kCount = std::int64_t{1} << 28;
  const DeviceArray values = numbers(kCount * 4, "values");
  const DeviceArray partial_sums = numbers(kMaxPartialSums * 4, "partial_sums");
  const DeviceArray total = numbers(4, "total");
  BlockReduceParams params;
  params.values = values.as<float>();
  params.count = kCount;
  params.partial_sums = partial_sums.as<float>();
  params.total = total.as<float>();
  params.threads_per_cta = kThreadsPerCta;
  time_launches(state, kCount * 4, [&] { rung.launch(params); });
}

void scan(benchmark::State& state, const Rung<ScanParams<float>>& rung) {
  constexpr std::int64_t kCount = std::int64_t{1} << 27;
  const DeviceArray values = numbers(kCount * 4, "values");
  const DeviceArray sums = numbers(kCount * 4, "sums");
  const std::int64_t num_totals = num_scan_totals(kCount, kThreadsPerCta);
  const DeviceArray cta_totals = numbers(num_totals * 4, "cta_totals");
  ScanParams<float> params;
  params.values = values.as<float>();
  params.sums = sums.as<float>();
  params.count = kCount;
  params.cta_totals = cta_totals.as<float>();
  params.threads_per_cta = kThreadsPerCta;
  time_launches(state, 2 * kCount * 4, [&] { rung.launch(params); });
}

void transpose(benchmark::State& state, const Rung<TransposeParams>& rung) {
  constexpr std::int64_t kSize = 8192;
  const DeviceArray input = numbers(kSize * kSize * 4, "input");
  const DeviceArray output = numbers(kSize * kSize * 4, "output");
  TransposeParams params;
  params.input = input.as<float>();
  params.output = output.as<float>();
  params.rows = kSize;
  params.columns = kSize;
  params.threads_per_cta = kThreadsPerCta;
  time_launches(state, 2 * kSize * kSize * 4, [&] { rung.launch(params); });
}

void histogram(benchmark::State& state, const Rung<HistogramParams>& rung, bool all_alike) {
  constexpr std::int64_t kCount = std::int64_t{1} << 26;
  std::vector<std::uint8_t> bytes(kCount, 7);
  std::mt19937 random(7);
  for (std::uint8_t& byte : bytes) {
    if (!all_alike) byte = static_cast<std::uint8_t>(random());
  }
  const DeviceArray values = device_copy(bytes, "values");
  const DeviceArray counts = numbers(kHistogramBins * 4, "counts");
  HistogramParams params;
  params.values = values.as<std::uint8_t>();
  params.count = kCount;
  params.counts = counts.as<unsigned int>();
  params.threads_per_cta = kThreadsPerCta;
  time_launches(state, kCount, [&] { rung.launch(params); });
}

template <typename Element>
void multiply(benchmark::State& state, const Rung<MatmulParams<Element>>& rung) {
  constexpr std::int64_t kSize = 4096;
  constexpr std::int64_t kElementBytes = sizeof(Element);
  const DeviceArray a = numbers(kSize * kSize * kElementBytes, "a");
  const DeviceArray b = numbers(kSize * kSize * kElementBytes, "b");
  const DeviceArray c = numbers(kSize * kSize * 4, "c");
  MatmulParams<Element> params;
  params.a = a.template as<Element>();
  params.b = b.template as<Element>();
  params.c = c.as<float>();
  params.m = params.n = params.k = kSize;
  time_launches(state, kSize * kSize * (2 * kElementBytes + 4), [&] { rung.launch(params); });
  const double operations = 2.0 * kSize * kSize * kSize;
  state.counters["TFLOP/s"] =
      benchmark::Counter(operations * 1e-12, benchmark::Counter::kIsIterationInvariantRate);
}

// One benchmark, by the name of its rung.
template <typename Body>
void add(const std::string& name, const Body& body) {
  benchmark::RegisterBenchmark(name.c_str(), body)->Unit(benchmark::kMicrosecond)->UseManualTime();
}

}  // namespace

void register_ladders() {
  const KernelSet kernels = kernels_of(*cuda_device());
  for (const auto& rung : kernels.block_reduce) {
    add(rung.name, [rung](benchmark::State& state) { reduce(state, rung); });
  }
  for (const auto& rung : kernels.scan_float) {
    add(rung.name, [rung](benchmark::State& state) { scan(state, rung); });
  }
  for (const auto& rung : kernels.transpose) {
    add(rung.name, [rung](benchmark::State& state) { transpose(state, rung); });
  }
  for (const auto& rung : kernels.histogram) {
    const std::string name = rung.name;
    add(name + "/random", [rung](benchmark::State& state) { histogram(state, rung, false); });
    add(name + "/all_alike", [rung](benchmark::State& state) { histogram(state, rung, true); });
  }
  for (const auto& rung : kernels.matmul) {
    add(rung.name, [rung](benchmark::State& state) { multiply(state, rung); });
  }
  const auto rung = kernels.matmul_tensor_cores;
  add(rung.name, [rung](benchmark::State& state) { multiply(state, rung); });
}

}  // namespace pagelab::bench
