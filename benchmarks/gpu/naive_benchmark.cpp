// The naive kernels on a GPU, and the second rung of decode: cache write, decode and prefill.
// "GB/s" counts each byte that has to move once; what the kernels read again, they lose.

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "benchmarks/gpu/attend.h"
#include "benchmarks/gpu/timing.h"
#include "gpu/backends/kernels_of.h"

using namespace pagelab;
using namespace pagelab::bench;

namespace {

// Requests with one query each.
void decode_sizes(benchmark::internal::Benchmark* decode) {
  decode->ArgNames({"requests", "context"})
      ->Args({1, 1024})
      ->Args({16, 1024})
      ->Args({64, 1024})
      ->Args({64, 2048})
      ->Args({64, 4096})
      ->Unit(benchmark::kMillisecond)
      ->UseManualTime();
}
void naive_decode(benchmark::State& state) {
  const KernelSet kernels = kernels_of(*cuda_device());
  attend(state, kernels.paged_decode[0].launchers, state.range(0), 1, state.range(1));
}
BENCHMARK(naive_decode)->Apply(decode_sizes);
void warp_decode(benchmark::State& state) {
  const KernelSet kernels = kernels_of(*cuda_device());
  attend(state, kernels.paged_decode[1].launchers, state.range(0), 1, state.range(1));
}
BENCHMARK(warp_decode)->Apply(decode_sizes);

// One request whose whole prompt attends.
void prefill_sizes(benchmark::internal::Benchmark* prefill) {
  prefill->ArgName("tokens")
      ->Arg(256)
      ->Arg(1024)
      ->Arg(2048)
      ->Unit(benchmark::kMillisecond)
      ->UseManualTime();
}
void naive_prefill(benchmark::State& state) {
  const KernelSet kernels = kernels_of(*cuda_device());
  attend(state, kernels.paged_decode[0].launchers, 1, state.range(0), state.range(0));
}
BENCHMARK(naive_prefill)->Apply(prefill_sizes);
void warp_prefill(benchmark::State& state) {
  const KernelSet kernels = kernels_of(*cuda_device());
  attend(state, kernels.paged_decode[1].launchers, 1, state.range(0), state.range(0));
}
BENCHMARK(warp_prefill)->Apply(prefill_sizes);

// New keys of `tokens` tokens to slots in random order.
void naive_cache_write(benchmark::State& state) {
  const std::int64_t num_tokens = state.range(0);
  std::vector<std::int64_t> slots(static_cast<std::size_t>(num_tokens));
  std::iota(slots.begin(), slots.end(), std::int64_t{0});
  std::shuffle(slots.begin(), slots.end(), std::mt19937(7));
  const DeviceArray slot_mapping = device_copy(slots, "slot_mapping");
  const DeviceArray scales = device_copy(std::vector<float>(kNumKvHeads, 1.0f), "scales");
  const DeviceArray rows = numbers(num_tokens * kBytesPerToken, "key");
  const DeviceArray cache = numbers(num_tokens * kBytesPerToken, "key_cache");
  CacheWriteParams params;
  params.rows = rows.data();
  params.cache = cache.data();
  params.cache_strides = {.block = kBlockSize * kNumKvHeads * kHeadSize,
                          .token = kNumKvHeads * kHeadSize,
                          .head = kHeadSize};
  params.block_size = kBlockSize;
  params.num_tokens = num_tokens;
  params.num_kv_heads = kNumKvHeads;
  params.head_size = kHeadSize;
  params.slot_mapping = slot_mapping.as<std::int64_t>();
  params.scales = scales.as<float>();
  const KernelSet kernels = kernels_of(*cuda_device());
  const auto launch = kernels.cache_write_naive.at(kDType, kDType);
  time_launches(state, 2 * num_tokens * kBytesPerToken, [&] { launch(params); });
}
BENCHMARK(naive_cache_write)
    ->ArgName("tokens")
    ->Arg(64)
    ->Arg(4096)
    ->Arg(65536)
    ->Unit(benchmark::kMicrosecond)
    ->UseManualTime();

}  // namespace
