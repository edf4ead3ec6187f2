// The ladder of prefill on a GPU: one causal request of a Llama-3-8B layer in bfloat16, and a matrix product of
// cuBLAS in the same run as the yardstick. "TFLOP/s" counts 2 · L² · head size · heads: two products over half
// of the L · L pairs of query and key, two operations an element.

#include <optional>

#include "benchmarks/gpu/attend.h"
#include "benchmarks/gpu/timing.h"
#include "gpu/backends/kernels_of.h"
#include "gpu/runtime/matrix_rate.h"

namespace pagelab::bench {
namespace {

void count_operations(benchmark::State& state, double operations) {
  state.counters["TFLOP/s"] =
      benchmark::Counter(operations * 1e-12, benchmark::Counter::kIsIterationInvariantRate);
}

void prefill(benchmark::State& state, const KernelTable<PagedAttentionParams>& rung) {
  const std::int64_t num_tokens = state.range(0);
  attend(state, rung, 1, num_tokens, num_tokens);
  const double length_squared = static_cast<double>(num_tokens) * static_cast<double>(num_tokens);
  count_operations(state, 2.0 * length_squared * kHeadSize * kNumQueryHeads);
}

void cublas_matmul(benchmark::State& state) {
  constexpr double kOperations = 2.0 * 8192 * 8192 * 8192;
  const std::optional<double> rate = cublas_matrix_rate();
  if (!rate) {
    state.SkipWithError("there is no cuBLAS on this machine: libcublas was not found");
    return;
  }
  for (auto _ : state) state.SetIterationTime(kOperations / *rate);  // the best of ten
  count_operations(state, kOperations);
}

}  // namespace

void register_prefill() {
  const KernelSet kernels = kernels_of(*cuda_device());
  for (const auto& rung : kernels.paged_prefill) {
    const auto body = [launchers = rung.launchers](benchmark::State& state) {
      prefill(state, launchers);
    };
    benchmark::RegisterBenchmark(rung.name, body)
        ->ArgName("tokens")
        ->Arg(2048)
        ->Arg(16384)
        ->Unit(benchmark::kMillisecond)
        ->UseManualTime();
  }
  benchmark::RegisterBenchmark("cuBLAS/bfloat16_8192", cublas_matmul)
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond)
      ->UseManualTime();
}

}  // namespace pagelab::bench
