// The naive kernels on a GPU, and the second rung of paged attention: cache write, decode and prefill.
// "GB/s" counts each byte that has to move once; what the kernels read again, they lose.

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "benchmarks/gpu/timing.h"
#include "gpu/backends/kernels_of.h"
#include "reference/cache/block_table.h"

using namespace pagelab;
using namespace pagelab::bench;

namespace {

// A Llama-3-8B layer in bfloat16.
constexpr std::int64_t kNumQueryHeads = 32;
constexpr std::int64_t kNumKvHeads = 8;
constexpr std::int64_t kHeadSize = 128;
constexpr std::int64_t kBlockSize = 16;
constexpr DType kDType = DType::kBFloat16;
constexpr std::int64_t kBytesPerToken = kNumKvHeads * kHeadSize * 2;  // of keys, or of values

// num_reqs requests with query_len queries and seq_len keys each, blocks in random order.
void attend(benchmark::State& state,
            const KernelTable<PagedAttentionParams>& rung,
            std::int64_t num_reqs,
            std::int64_t query_len,
            std::int64_t seq_len) {
  const std::int64_t blocks_per_req = blocks_for_tokens(seq_len, kBlockSize);
  std::vector<std::int32_t> blocks(static_cast<std::size_t>(num_reqs * blocks_per_req));
  std::iota(blocks.begin(), blocks.end(), 0);
  std::shuffle(blocks.begin(), blocks.end(), std::mt19937(7));
  std::vector<std::int32_t> start_loc;
  for (std::int64_t req_idx = 0; req_idx <= num_reqs; ++req_idx) {
    start_loc.push_back(static_cast<std::int32_t>(req_idx * query_len));
  }
  const std::vector<std::int32_t> lens(static_cast<std::size_t>(num_reqs),
                                       static_cast<std::int32_t>(seq_len));
  const std::int64_t num_tokens = num_reqs * query_len;
  const std::int64_t cache_bytes = num_reqs * blocks_per_req * kBlockSize * kBytesPerToken;
  const DeviceArray block_table = device_copy(blocks, "block_table");
  const DeviceArray query_start_loc = device_copy(start_loc, "query_start_loc");
  const DeviceArray seq_lens = device_copy(lens, "seq_lens");
  const DeviceArray scales = device_copy(std::vector<float>(kNumKvHeads, 1.0f), "scales");
  const DeviceArray query = numbers(num_tokens * kNumQueryHeads * kHeadSize * 2, "query");
  const DeviceArray keys = numbers(cache_bytes, "key_cache");
  const DeviceArray values = numbers(cache_bytes, "value_cache");
  const DeviceArray output = numbers(num_tokens * kNumQueryHeads * kHeadSize * 4, "output");
  const DeviceArray lse = numbers(num_tokens * kNumQueryHeads * 4, "lse");

  PagedAttentionParams params;
  params.query = query.data();
  params.num_tokens = num_tokens;
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
  params.scale = 0.08838835f;  // 1/√128
  params.output = output.as<float>();
  params.lse = lse.as<float>();
  const auto launch = rung.at(kDType, kDType);
  const std::int64_t bytes = 2 * num_reqs * seq_len * kBytesPerToken +
                             static_cast<std::int64_t>(query.bytes() + output.bytes());
  time_launches(state, bytes, [&] { launch(params); });
  state.counters["tokens/s"] = benchmark::Counter(static_cast<double>(num_tokens),
                                                  benchmark::Counter::kIsIterationInvariantRate);
}

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
