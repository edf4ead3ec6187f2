#include "benchmarks/gpu/attend.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "benchmarks/gpu/timing.h"
#include "gpu/kernels/paged_decode/partitions.h"
#include "reference/cache/block_table.h"

namespace pagelab::bench {

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
  const std::int64_t cache_size = num_reqs * blocks_per_req * kBlockSize * kNumKvHeads * kHeadSize;
  const DeviceArray block_table = device_copy(blocks, "block_table");
  const DeviceArray query_start_loc = device_copy(start_loc, "query_start_loc");
  const DeviceArray seq_lens = device_copy(lens, "seq_lens");
  const DeviceArray scales = device_copy(std::vector<float>(kNumKvHeads, 1.0f), "scales");
  const DeviceArray query = random_numbers(num_tokens * kNumQueryHeads * kHeadSize, "query");
  const DeviceArray keys = random_numbers(cache_size, "key_cache");
  const DeviceArray values = random_numbers(cache_size, "value_cache");
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
  params.max_seq_len = seq_len;
  params.workspace_floats = decode_workspace_floats(params);
  const DeviceArray workspace = numbers(params.workspace_floats * 4, "workspace");
  params.workspace = workspace.as<float>();
  const auto launch = rung.at(kDType, kDType);
  const std::int64_t bytes = 2 * num_reqs * seq_len * kBytesPerToken +
                             static_cast<std::int64_t>(query.bytes() + output.bytes());
  time_launches(state, bytes, [&] { launch(params); });
  state.counters["tokens/s"] = benchmark::Counter(static_cast<double>(num_tokens),
                                                  benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace pagelab::bench
