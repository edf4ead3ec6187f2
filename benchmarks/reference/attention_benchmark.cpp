// How fast the reference is, and what paging costs it.
//
//   <precision>/<work>/<form>/context:N   one call: tokens/s, and bytes/s of keys and values read
//   paging_cost/<precision>/<work>/block:B  both forms in turn, in the same run: how much longer the
//                                           paged one takes, in percent
//
// Work is decode (one new token for each of four requests) or prefill (a whole prompt); forms are
// contiguous, in_place and gather with a block size. Contexts double, so that linear growth shows:
// time/token divided by context stays put.

#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "reference/attention/contiguous.h"
#include "reference/attention/paged.h"
#include "reference/cache/gather.h"

namespace {

using namespace pagelab;

// Heads as in a small Llama: a group of 4 query heads a KV head.
constexpr std::int64_t kNumQueryHeads = 8;
constexpr std::int64_t kNumKvHeads = 2;
constexpr std::int64_t kHeadSize = 64;
constexpr std::uint32_t kSeed = 20261129;

struct Work {
  std::string name;
  std::int64_t num_reqs;
  std::int64_t query_len;  // tokens of each request in this step
  std::int64_t context;    // tokens of each request, these included
};

Work decode(std::int64_t context) { return {"decode", 4, 1, context}; }
Work prefill(std::int64_t context) { return {"prefill", 1, context, context}; }

// The same requests twice: their keys and values in plain arrays, and in a paged cache.
struct Prepared {
  AttentionStep step;
  std::vector<Tensor> query;  // a request each: [query_len, num_query_heads, head_size]
  std::vector<Tensor> key;    // [context, num_kv_heads, head_size]
  std::vector<Tensor> value;  // [context, num_kv_heads, head_size]
};

Tensor random_rows(std::int64_t rows, std::int64_t heads, std::mt19937& random) {
  Tensor tensor(DType::kFloat32, {rows, heads, kHeadSize});
  std::uniform_real_distribution<float> numbers(-1.0f, 1.0f);
  for (std::int64_t index = 0; index < tensor.size(); ++index) {
    tensor.data<float>()[index] = numbers(random);
  }
  return tensor;
}

// Blocks lie anywhere in the pool, as they do after some time of serving.
BlockTable shuffled_table(const Work& work, std::int64_t block_size, std::mt19937& random) {
  const std::int64_t blocks_per_req = blocks_for_tokens(work.context, block_size);
  BlockTable table = BlockTable::unused(work.num_reqs, blocks_per_req);
  for (std::size_t index = 0; index < table.entries.size(); ++index) {
    table.entries[index] = static_cast<std::int32_t>(index);
  }
  std::shuffle(table.entries.begin(), table.entries.end(), random);
  return table;
}

Prepared prepare(const Work& work, std::int64_t block_size) {
  std::mt19937 random(kSeed);
  Prepared prepared;
  AttentionStep& step = prepared.step;
  step.metadata.block_table = shuffled_table(work, block_size, random);
  KvCacheSpec spec;
  spec.num_blocks = static_cast<std::int64_t>(step.metadata.block_table.entries.size());
  spec.block_size = block_size;
  spec.num_kv_heads = kNumKvHeads;
  spec.head_size = spec.head_size_v = kHeadSize;
  step.cache = KvCache(spec);
  std::vector<float> queries;
  for (std::int64_t req_idx = 0; req_idx < work.num_reqs; ++req_idx) {
    prepared.query.push_back(random_rows(work.query_len, kNumQueryHeads, random));
    prepared.key.push_back(random_rows(work.context, kNumKvHeads, random));
    prepared.value.push_back(random_rows(work.context, kNumKvHeads, random));
    fill_paged_cache(prepared.key.back(), prepared.value.back(),
                     step.metadata.block_table.row(req_idx), step.cache);
    const Tensor& query = prepared.query.back();
    queries.insert(queries.end(), query.data<float>(), query.data<float>() + query.size());
    step.metadata.query_start_loc.push_back(static_cast<std::int32_t>(work.query_len) +
                                            step.metadata.query_start_loc.back());
    step.metadata.seq_lens.push_back(static_cast<std::int32_t>(work.context));
  }
  const std::int64_t num_tokens = work.num_reqs * work.query_len;
  step.query = Tensor::from_values<float>({num_tokens, kNumQueryHeads, kHeadSize}, queries);
  step.key = step.value = Tensor(DType::kFloat32, {num_tokens, kNumKvHeads, kHeadSize});
  step.metadata.slot_mapping.assign(static_cast<std::size_t>(num_tokens), kNoSlot);
  step.variant.scale = 1.0 / std::sqrt(static_cast<double>(kHeadSize));
  return prepared;
}

template <typename Real>
void run_contiguous(const Prepared& prepared) {
  for (std::size_t req_idx = 0; req_idx < prepared.query.size(); ++req_idx) {
    const RequestAttention result =
        contiguous_attention<Real>(prepared.query[req_idx], prepared.key[req_idx],
                                   prepared.value[req_idx], prepared.step.variant);
    benchmark::DoNotOptimize(result.output.bytes());
  }
}

template <typename Real>
void run_in_place(const Prepared& prepared) {
  Tensor output;
  Tensor lse;
  paged_attention_in_place<Real>(prepared.step, output, lse);
  benchmark::DoNotOptimize(output.bytes());
}

template <typename Real>
void run_by_gather(const Prepared& prepared) {
  Tensor output;
  Tensor lse;
  paged_attention_by_gather<Real>(prepared.step, output, lse);
  benchmark::DoNotOptimize(output.bytes());
}

using Form = void (*)(const Prepared&);

// Keys and values that the step's queries see, counted once for each query token: what must be read
// at least.
double bytes_seen(const Work& work) {
  const double bytes_per_key_and_value = 2.0 * kNumKvHeads * kHeadSize * sizeof(float);
  const double first = static_cast<double>(work.context - work.query_len + 1);
  const double average_keys = (first + static_cast<double>(work.context)) / 2;
  return static_cast<double>(work.num_reqs * work.query_len) * average_keys *
         bytes_per_key_and_value;
}

void measure(benchmark::State& state, const Work& work, std::int64_t block_size, Form form) {
  const Prepared prepared = prepare(work, block_size);
  for (auto _ : state) form(prepared);
  using benchmark::Counter;
  state.counters["tokens/s"] = Counter(static_cast<double>(work.num_reqs * work.query_len),
                                       Counter::kIsIterationInvariantRate);
  state.counters["bytes/s"] =
      Counter(bytes_seen(work), Counter::kIsIterationInvariantRate, Counter::kIs1024);
}

// This thread's time on a CPU: what others on the machine do to it stays out, but for caches.
double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds_for(Form form, const Prepared& prepared) {
  const double before = cpu_seconds();
  form(prepared);
  return cpu_seconds() - before;
}

// Contiguous and paged in turn, each first in every other round, so that whatever changes in the
// machine changes for both. The median of the rounds' ratios ignores the disturbed ones.
void measure_paging_cost(benchmark::State& state,
                         const Work& work,
                         std::int64_t block_size,
                         Form contiguous,
                         Form paged) {
  const Prepared prepared = prepare(work, block_size);
  std::vector<double> ratios;
  for (auto _ : state) {
    double contiguous_seconds = 0;
    double paged_seconds = 0;
    if (ratios.size() % 2 == 0) {
      contiguous_seconds = seconds_for(contiguous, prepared);
      paged_seconds = seconds_for(paged, prepared);
    } else {
      paged_seconds = seconds_for(paged, prepared);
      contiguous_seconds = seconds_for(contiguous, prepared);
    }
    ratios.push_back(paged_seconds / contiguous_seconds);
  }
  std::nth_element(ratios.begin(), ratios.begin() + ratios.size() / 2, ratios.end());
  state.counters["paging_cost_%"] = 100.0 * (ratios[ratios.size() / 2] - 1.0);
}

constexpr std::int64_t kBlockSizes[] = {1, 16, 64};

template <typename Real>
void register_forms(const std::string& precision, const Work& work) {
  const std::string prefix = precision + "/" + work.name + "/";
  const std::string suffix = "/context:" + std::to_string(work.context);
  const auto add = [&](const std::string& form_name, std::int64_t block_size, Form form) {
    benchmark::RegisterBenchmark(
        (prefix + form_name + suffix).c_str(),
        [=](benchmark::State& state) { measure(state, work, block_size, form); })
        ->Unit(benchmark::kMicrosecond);
  };
  add("contiguous", 16, run_contiguous<Real>);
  for (std::int64_t block_size : kBlockSizes) {
    add("in_place:" + std::to_string(block_size), block_size, run_in_place<Real>);
    add("gather:" + std::to_string(block_size), block_size, run_by_gather<Real>);
  }
}

template <typename Real>
void register_paging_cost(const std::string& precision, const Work& work) {
  for (std::int64_t block_size : kBlockSizes) {
    const std::string name = "paging_cost/" + precision + "/" + work.name +
                             "/block:" + std::to_string(block_size) +
                             "/context:" + std::to_string(work.context);
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
      measure_paging_cost(state, work, block_size, run_contiguous<Real>, run_in_place<Real>);
    })->Unit(benchmark::kMicrosecond);
  }
}

template <typename Real>
void register_precision(const std::string& precision) {
  for (std::int64_t context : {256, 512, 1024, 2048, 4096}) {
    register_forms<Real>(precision, decode(context));
  }
  for (std::int64_t context : {64, 128, 256}) register_forms<Real>(precision, prefill(context));
  for (std::int64_t context : {256, 1024, 4096}) {
    register_paging_cost<Real>(precision, decode(context));
  }
  register_paging_cost<Real>(precision, prefill(256));
}

}  // namespace

int main(int argc, char** argv) {
  // Repetitions of all benchmarks in random order, unless the caller says otherwise: forms are
  // compared with each other, and the machine's clock may change on the way.
  std::vector<std::string> words = {
      argv[0], "--benchmark_enable_random_interleaving=true", "--benchmark_repetitions=3",
      "--benchmark_report_aggregates_only=true", "--benchmark_min_time=0.05"};
  words.insert(words.end(), argv + 1, argv + argc);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  int num_arguments = static_cast<int>(arguments.size());

  register_precision<double>("REFERENCE");
  register_precision<float>("REFERENCE_FLOAT");
  benchmark::Initialize(&num_arguments, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(num_arguments, arguments.data())) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
