// A batch of decodes that share a prefix, on a GPU: all keys at once (flat), and in a cascade of three launches, whose
// first is cascade/1_prefix or, for comparison, paged_prefill/3_pipelined. Flat attention reads the prefix once a
// request, though from the L2 cache where that holds it. "GB/s" counts the prefix once and each request's own tokens,
// in every variant; "times flat" compares with flat launches of the same batch in the same run.

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "benchmarks/gpu/attend.h"
#include "benchmarks/gpu/timing.h"
#include "gpu/backends/kernels_of.h"
#include "gpu/kernels/paged_decode/partitions.h"
#include "reference/cache/block_table.h"

namespace pagelab::bench {
namespace {

constexpr std::int64_t kOwnTokens = 256;  // of each request, behind the prefix

// The first blocks of every row are the same; all lie in random order.
std::vector<std::int32_t> shared_block_table(std::int64_t num_reqs,
                                             std::int64_t num_shared,
                                             std::int64_t num_own) {
  std::vector<std::int32_t> pool(static_cast<std::size_t>(num_shared + num_reqs * num_own));
  std::iota(pool.begin(), pool.end(), 0);
  std::shuffle(pool.begin(), pool.end(), std::mt19937(7));
  std::vector<std::int32_t> table;
  for (std::int64_t req_idx = 0; req_idx < num_reqs; ++req_idx) {
    const auto own = pool.begin() + num_shared + req_idx * num_own;
    table.insert(table.end(), pool.begin(), pool.begin() + num_shared);
    table.insert(table.end(), own, own + num_own);
  }
  return table;
}

std::vector<std::int32_t> counted_up(std::int64_t count) {
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

std::vector<std::int32_t> equal_lens(std::int64_t count, std::int64_t len) {
  return std::vector<std::int32_t>(static_cast<std::size_t>(count), static_cast<std::int32_t>(len));
}

// The batch in device memory, and what each launch gets.
class SharedPrefixBatch {
 public:
  SharedPrefixBatch(std::int64_t num_reqs, std::int64_t prefix_len)
      : num_reqs_(num_reqs),
        prefix_len_(prefix_len),
        num_tokens_in_cache_(prefix_len + num_reqs * kOwnTokens),
        block_table_(device_copy(
            shared_block_table(num_reqs, prefix_len / kBlockSize, kOwnTokens / kBlockSize),
            "block_table")),
        one_each_(device_copy(counted_up(num_reqs + 1), "query_start_loc")),
        all_in_one_(device_copy(std::vector<std::int32_t>{0, static_cast<std::int32_t>(num_reqs)},
                                "query_start_loc of the prefix")),
        flat_lens_(device_copy(equal_lens(num_reqs, prefix_len + kOwnTokens), "seq_lens")),
        prefix_lens_(device_copy(equal_lens(1, prefix_len), "seq_lens of the prefix")),
        own_lens_(device_copy(equal_lens(num_reqs, kOwnTokens), "seq_lens of the suffix")),
        scales_(device_copy(std::vector<float>(kNumKvHeads, 1.0f), "scales")),
        query_(random_numbers(num_reqs * kNumQueryHeads * kHeadSize, "query")),
        keys_(random_numbers(num_tokens_in_cache_ * kNumKvHeads * kHeadSize, "key_cache")),
        values_(random_numbers(num_tokens_in_cache_ * kNumKvHeads * kHeadSize, "value_cache")),
        output_(numbers(num_rows() * kHeadSize * 4, "output")),
        lse_(numbers(num_rows() * 4, "lse")),
        prefix_output_(numbers(num_rows() * kHeadSize * 4, "prefix_output")),
        prefix_lse_(numbers(num_rows() * 4, "prefix_lse")) {
    workspace_ = numbers(decode_workspace_floats(flat()) * 4, "workspace");
  }

  // Bytes that have to move: each key and value of the cache once, queries and outputs.
  std::int64_t bytes() const {
    return 2 * num_tokens_in_cache_ * kBytesPerToken +
           static_cast<std::int64_t>(query_.bytes() + output_.bytes());
  }

  PagedAttentionParams flat() const {
    PagedAttentionParams params;
    params.query = query_.data();
    params.query_dtype = params.cache_dtype = kDType;
    params.num_tokens = params.num_reqs = num_reqs_;
    params.num_query_heads = kNumQueryHeads;
    params.num_kv_heads = kNumKvHeads;
    params.head_size = params.head_size_v = kHeadSize;
    params.query_start_loc = one_each_.as<std::int32_t>();
    params.seq_lens = flat_lens_.as<std::int32_t>();
    params.block_table = block_table_.as<std::int32_t>();
    params.max_blocks_per_req = (prefix_len_ + kOwnTokens) / kBlockSize;
    params.key_cache = keys_.data();
    params.value_cache = values_.data();
    params.key_strides = {.block = kBlockSize * kNumKvHeads * kHeadSize,
                          .token = kNumKvHeads * kHeadSize,
                          .head = kHeadSize};
    params.value_strides = params.key_strides;
    params.block_size = kBlockSize;
    params.k_scales = params.v_scales = scales_.as<float>();
    params.scale = 0.08838835f;  // 1/√128
    params.output = output_.as<float>();
    params.lse = lse_.as<float>();
    params.max_seq_len = prefix_len_ + kOwnTokens;
    params.workspace = workspace_.as<float>();
    params.workspace_floats = static_cast<std::int64_t>(workspace_.bytes() / 4);
    return params;
  }

  // One request of all queries; its row is the table's first.
  PagedAttentionParams prefix() const {
    PagedAttentionParams params = flat();
    params.num_reqs = 1;
    params.query_start_loc = all_in_one_.as<std::int32_t>();
    params.seq_lens = prefix_lens_.as<std::int32_t>();
    params.visibility.causal = false;
    params.max_seq_len = prefix_len_;
    params.output = prefix_output_.as<float>();
    params.lse = prefix_lse_.as<float>();
    return params;
  }

  // The table from the column after the prefix on.
  PagedAttentionParams suffix() const {
    PagedAttentionParams params = flat();
    params.block_table = params.block_table + prefix_len_ / kBlockSize;
    params.seq_lens = own_lens_.as<std::int32_t>();
    params.max_seq_len = kOwnTokens;
    return params;
  }

  MergeStatesParams merge() const {
    return {.prefix_output = prefix_output_.as<float>(),
            .prefix_lse = prefix_lse_.as<float>(),
            .suffix_output = output_.as<float>(),
            .suffix_lse = lse_.as<float>(),
            .num_tokens = num_reqs_,
            .num_query_heads = kNumQueryHeads,
            .head_size_v = kHeadSize,
            .output = output_.as<float>(),
            .lse = lse_.as<float>()};
  }

 private:
  std::int64_t num_rows() const { return num_reqs_ * kNumQueryHeads; }

  std::int64_t num_reqs_;
  std::int64_t prefix_len_;
  std::int64_t num_tokens_in_cache_;
  DeviceArray block_table_;
  DeviceArray one_each_;
  DeviceArray all_in_one_;
  DeviceArray flat_lens_;
  DeviceArray prefix_lens_;
  DeviceArray own_lens_;
  DeviceArray scales_;
  DeviceArray query_;
  DeviceArray keys_;
  DeviceArray values_;
  DeviceArray output_;
  DeviceArray lse_;
  DeviceArray prefix_output_;
  DeviceArray prefix_lse_;
  DeviceArray workspace_;
};

using Launcher = KernelTable<PagedAttentionParams>::Launcher;

// The mean of ten times, after one that loads the kernels.
template <typename Launch>
double mean_seconds(const Launch& launch) {
  constexpr int kRounds = 10;
  EventTimer timer;
  launch();
  double seconds = 0.0;
  for (int round = 0; round < kRounds; ++round) seconds += timer.seconds_of(launch);
  return seconds / kRounds;
}

void flat_attention(benchmark::State& state) {
  const SharedPrefixBatch batch(state.range(0), state.range(1));
  const Launcher flat = kernels_of(*cuda_device()).paged_decode[6].launchers.at(kDType, kDType);
  time_launches(state, batch.bytes(), [&] { flat(batch.flat()); });
}

void cascade(benchmark::State& state, Launcher prefix) {
  const SharedPrefixBatch batch(state.range(0), state.range(1));
  const KernelSet kernels = kernels_of(*cuda_device());
  const Launcher decode = kernels.paged_decode[6].launchers.at(kDType, kDType);
  const auto flat = [&] { decode(batch.flat()); };
  const auto of_prefix = [&] { prefix(batch.prefix()); };
  const auto of_suffix = [&] { decode(batch.suffix()); };
  const auto merge = [&] { kernels.merge_states.launch(batch.merge()); };
  const auto all_three = [&] {
    of_prefix();
    of_suffix();
    merge();
  };
  const double flat_seconds = mean_seconds(flat);
  time_launches(state, batch.bytes(), all_three);
  state.counters["times flat"] = flat_seconds / mean_seconds(all_three);
  state.counters["prefix us"] = mean_seconds(of_prefix) * 1e6;
  state.counters["suffix us"] = mean_seconds(of_suffix) * 1e6;
  state.counters["merge us"] = mean_seconds(merge) * 1e6;
}

void with_shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"requests", "prefix"})
      ->Args({64, 8192})
      ->Args({64, 1024})
      ->Args({8, 8192})
      ->Args({8, 1024})
      ->Args({2, 256})
      ->Unit(benchmark::kMicrosecond)
      ->UseManualTime();
}

}  // namespace

void register_cascade() {
  const KernelSet kernels = kernels_of(*cuda_device());
  with_shapes(benchmark::RegisterBenchmark("cascade/flat", flat_attention));
  for (const auto& rung : {kernels.cascade_prefix, kernels.paged_prefill[2]}) {
    const std::string name = std::string("cascade/with ") + rung.name;
    const Launcher prefix = rung.launchers.at(kDType, kDType);
    with_shapes(benchmark::RegisterBenchmark(
        name.c_str(), [prefix](benchmark::State& state) { cascade(state, prefix); }));
  }
}

}  // namespace pagelab::bench
