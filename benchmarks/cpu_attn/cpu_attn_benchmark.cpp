// How fast CPU_ATTN attends over a paged cache whose blocks of 16 tokens lie anywhere in the pool.
//
//   <work>/<dtype>   decode: 8 requests of 4,096 cached tokens, one new token each; prefill: one prompt
//                    of 2,048 tokens, causal; 32 query heads and 8 KV heads of 128 elements
//
// A decode step is given in bytes of keys and values read a second, a prefill in floating-point
// operations a second, counted as 2 · length² · head_size · heads (two products, half of each masked).
// PAGELAB_THREADS says how many threads (default 2).

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gpu/backends/cpu_attn/cpu_attn.h"

namespace {

using namespace pagelab;

constexpr std::int64_t kNumQueryHeads = 32;
constexpr std::int64_t kNumKvHeads = 8;
constexpr std::int64_t kHeadSize = 128;
constexpr std::int64_t kBlockSize = 16;
constexpr std::uint32_t kSeed = 20261129;

struct Work {
  std::string name;
  std::int64_t num_reqs;
  std::int64_t query_len;
  std::int64_t seq_len;
};

const Work kDecode = {"decode", 8, 1, 4096};
const Work kPrefill = {"prefill", 1, 2048, 2048};

int num_threads() {
  const char* text = std::getenv("PAGELAB_THREADS");
  return text == nullptr ? 2 : std::atoi(text);
}

// A million random numbers, again and again: what they are does not change the time.
Tensor random_tensor(const Shape& shape, DType dtype, std::mt19937& random) {
  std::vector<float> numbers(1 << 20);
  for (float& number : numbers) number = static_cast<float>(random()) * 0x1p-31f - 1.0f;
  const Shape numbers_shape = {static_cast<std::int64_t>(numbers.size())};
  const Tensor converted = convert(Tensor::from_values<float>(numbers_shape, numbers), dtype);
  Tensor tensor(dtype, shape);
  for (std::int64_t done = 0; done < tensor.size_in_bytes();) {
    const std::int64_t bytes = std::min(converted.size_in_bytes(), tensor.size_in_bytes() - done);
    std::memcpy(tensor.bytes() + done, converted.bytes(), static_cast<std::size_t>(bytes));
    done += bytes;
  }
  return tensor;
}

// All tokens of the requests are in the cache.
AttentionStep prepare(const Work& work, DType dtype) {
  std::mt19937 random(kSeed);
  AttentionStep step;
  CommonAttentionMetadata& metadata = step.metadata;
  const std::int64_t blocks_per_req = blocks_for_tokens(work.seq_len, kBlockSize);
  metadata.block_table = BlockTable::unused(work.num_reqs, blocks_per_req);
  std::vector<std::int32_t>& blocks = metadata.block_table.entries;
  for (std::size_t index = 0; index < blocks.size(); ++index) {
    blocks[index] = static_cast<std::int32_t>(index);
  }
  std::shuffle(blocks.begin(), blocks.end(), random);
  for (std::int64_t req_idx = 0; req_idx < work.num_reqs; ++req_idx) {
    metadata.query_start_loc.push_back(static_cast<std::int32_t>((req_idx + 1) * work.query_len));
    metadata.seq_lens.push_back(static_cast<std::int32_t>(work.seq_len));
  }
  const std::int64_t num_tokens = work.num_reqs * work.query_len;
  metadata.slot_mapping.assign(static_cast<std::size_t>(num_tokens), kNoSlot);

  KvCacheSpec spec;
  spec.num_blocks = work.num_reqs * blocks_per_req;
  spec.block_size = kBlockSize;
  spec.num_kv_heads = kNumKvHeads;
  spec.head_size = spec.head_size_v = kHeadSize;
  spec.dtype = dtype;
  step.cache = KvCache(spec);
  const Shape cache_shape = {spec.num_blocks, kBlockSize, kNumKvHeads, kHeadSize};
  const Tensor keys = random_tensor(cache_shape, dtype, random);
  const Tensor values = random_tensor(cache_shape, dtype, random);
  step.cache.assign(keys, values);
  step.query = random_tensor({num_tokens, kNumQueryHeads, kHeadSize}, dtype, random);
  step.key = step.value = Tensor(dtype, {num_tokens, kNumKvHeads, kHeadSize});
  step.variant.scale = 1.0 / std::sqrt(static_cast<double>(kHeadSize));
  return step;
}

void measure(benchmark::State& state, const Work& work, DType dtype) {
  const AttentionStep step = prepare(work, dtype);
  const auto impl = make_cpu_attn_backend(num_threads())->make_impl(step.cache);
  Tensor output, lse;
  for (auto _ : state) {
    impl->forward(step.query, step.key, step.value, step.metadata, step.variant, output, lse);
    benchmark::DoNotOptimize(output.bytes());
  }
  using benchmark::Counter;
  const double length = static_cast<double>(work.seq_len);
  if (work.query_len == 1) {
    const double bytes = 2.0 * static_cast<double>(work.num_reqs * kNumKvHeads * kHeadSize) *
                         length * bytes_of(dtype);
    state.counters["bytes/s"] = Counter(bytes, Counter::kIsIterationInvariantRate);
  } else {
    const double flops = 2.0 * length * length * static_cast<double>(kHeadSize * kNumQueryHeads);
    state.counters["FLOP/s"] = Counter(flops, Counter::kIsIterationInvariantRate);
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (const Work& work : {kDecode, kPrefill}) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      const std::string name = work.name + "/" + std::string(to_string(dtype));
      benchmark::RegisterBenchmark(name.c_str(),
                                   [=](benchmark::State& state) { measure(state, work, dtype); })
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
