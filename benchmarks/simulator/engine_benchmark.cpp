// What scheduling costs: the loop of schedule and update alone, requests made and their blocks named
// before it. A step lasts 50 ms of the trace's time. Block size 16, 60,000 blocks, 8,192 tokens and
// 256 requests a step, max_model_len 131,072.
//
//   made_up/<copies>/<loop>  2,000 requests that share prefixes, once and ten times in a row: time and
//                            memory must grow in proportion
//   trace/<copies>/<loop>    the same for a trace in Mooncake's JSON lines, whose path is in the
//                            environment variable PAGELAB_TRACE
//
// Counters: steps, time on the processor for a step, and for one request's part in a step.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "reference/contract/refuse.h"
#include "simulator/engine/schedule/scheduler.h"

using namespace pagelab;

namespace {

constexpr std::int64_t kStepMs = 50;
constexpr std::int32_t kPrefixTokens = 512;  // tokens that one hash id of a trace stands for

// A line of a trace.
struct Arrival {
  std::int64_t timestamp_ms;
  std::int32_t input_length;
  std::int32_t output_length;
  std::vector<std::int32_t> hash_ids;  // equal ids: the same prefix of 512 tokens each
};

std::vector<Arrival> read_trace(const std::string& path) {
  std::ifstream file(path);
  if (!file) refuse("PAGELAB_TRACE is {}, which cannot be read.", path);
  std::vector<Arrival> arrivals;
  for (std::string line; std::getline(file, line);) {
    const nlohmann::json fields = nlohmann::json::parse(line);
    arrivals.push_back({fields.at("timestamp"), fields.at("input_length"),
                        fields.at("output_length"), fields.at("hash_ids")});
  }
  return arrivals;
}

// Three requests a second, prompts of 0.5 to 32 thousand tokens, of which a third go on where an
// earlier one ended.
std::vector<Arrival> make_up_trace() {
  std::mt19937 random(20261130);
  std::vector<Arrival> arrivals;
  std::int32_t next_hash_id = 1;
  for (std::int64_t index = 0; index < 2000; ++index) {
    Arrival arrival{index * 330, 0, static_cast<std::int32_t>(1 + random() % 700), {0}};
    if (index > 20 && random() % 3 == 0)
      arrival.hash_ids = arrivals[index - 1 - random() % 20].hash_ids;
    const std::size_t num_blocks = arrival.hash_ids.size() + 1 + random() % 32;
    while (arrival.hash_ids.size() < num_blocks) arrival.hash_ids.push_back(next_hash_id++);
    arrival.input_length = static_cast<std::int32_t>(num_blocks * kPrefixTokens - random() % 500);
    arrivals.push_back(std::move(arrival));
  }
  return arrivals;
}

// The trace several times, one after another, each with prefixes of its own.
std::vector<Arrival> repeated(const std::vector<Arrival>& once, int copies) {
  std::int32_t num_hash_ids = 0;
  for (const Arrival& arrival : once) {
    for (const std::int32_t id : arrival.hash_ids) num_hash_ids = std::max(num_hash_ids, id + 1);
  }
  std::vector<Arrival> arrivals;
  for (int copy = 0; copy < copies; ++copy) {
    for (Arrival arrival : once) {
      arrival.timestamp_ms += copy * (once.back().timestamp_ms + kStepMs);
      for (std::int32_t& id : arrival.hash_ids) id += copy * num_hash_ids;
      arrivals.push_back(std::move(arrival));
    }
  }
  return arrivals;
}

Request request_of(const Arrival& arrival, RequestId id) {
  std::vector<TokenId> tokens;
  tokens.reserve(arrival.input_length + arrival.output_length);
  for (std::int32_t position = 0; position < arrival.input_length; ++position) {
    const TokenId prefix = arrival.hash_ids.at(position / kPrefixTokens);
    tokens.push_back(prefix * kPrefixTokens + position % kPrefixTokens);
  }
  return Request(id, std::move(tokens), arrival.output_length);
}

struct LoopCounts {
  std::int64_t num_steps = 0;
  std::int64_t num_parts = 0;  // requests scheduled, over all steps
};

SampledTokens sampled_by_nobody(const SchedulerOutput& step) {
  SampledTokens sampled;
  sampled.start.reserve(step.scheduled.size() + 1);
  sampled.start.push_back(0);
  for (const ScheduledTokens& part : step.scheduled) {
    if (!part.is_prefill_chunk) sampled.tokens.push_back(1);
    sampled.start.push_back(static_cast<std::int32_t>(sampled.tokens.size()));
  }
  return sampled;
}

// Schedules until all requests have ended; as many steps are on their way as the loop allows.
LoopCounts run_loop(Scheduler& scheduler,
                    std::vector<Request>& requests,
                    const std::vector<Arrival>& arrivals) {
  const auto depth = static_cast<std::size_t>(max_concurrent_batches(scheduler.config()));
  LoopCounts counts;
  std::deque<SchedulerOutput> in_flight;
  std::size_t next = 0;
  for (std::int64_t now = 0;
       next < requests.size() || scheduler.has_requests() || !in_flight.empty(); ++now) {
    const bool is_idle = !scheduler.has_requests() && in_flight.empty();
    if (is_idle) now = std::max(now, arrivals[next].timestamp_ms / kStepMs);
    while (next < requests.size() && arrivals[next].timestamp_ms / kStepMs <= now) {
      scheduler.add_request(std::move(requests[next++]));
    }
    if (scheduler.has_requests()) {
      in_flight.push_back(scheduler.schedule());
      ++counts.num_steps;
      counts.num_parts += static_cast<std::int64_t>(in_flight.back().scheduled.size());
      if (in_flight.size() < depth) continue;
    }
    scheduler.update_from_output(in_flight.front(), sampled_by_nobody(in_flight.front()));
    in_flight.pop_front();
  }
  return counts;
}

void measure(benchmark::State& state, const std::vector<Arrival>& arrivals, bool is_async) {
  SchedulerConfig config;
  config.async_scheduling = is_async;
  KVCacheConfig cache;
  cache.num_blocks = 60000;
  cache.max_model_len = 131072;
  LoopCounts counts;
  for (auto _ : state) {
    state.PauseTiming();
    {
      Scheduler scheduler(config, cache);
      std::vector<Request> requests;
      for (const Arrival& arrival : arrivals) {
        requests.push_back(request_of(arrival, static_cast<RequestId>(requests.size())));
        scheduler.hash_full_blocks(requests.back());
      }
      state.ResumeTiming();
      counts = run_loop(scheduler, requests, arrivals);
      state.PauseTiming();
    }
    state.ResumeTiming();
  }
  const benchmark::Counter::Flags time_each =
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert;
  state.counters["steps"] = static_cast<double>(counts.num_steps);
  state.counters["step"] = {static_cast<double>(counts.num_steps), time_each};
  state.counters["part"] = {static_cast<double>(counts.num_parts), time_each};
}

void add_benchmarks(const std::string& name, const std::vector<Arrival>& once) {
  for (const int copies : {1, 10}) {
    for (const bool is_async : {false, true}) {
      benchmark::RegisterBenchmark(
          fmt::format("{}/{}/{}", name, copies, is_async ? "asynchronous" : "synchronous").c_str(),
          [once, copies, is_async](benchmark::State& state) {
            measure(state, repeated(once, copies), is_async);
          })
          ->Unit(benchmark::kMillisecond);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  try {
    add_benchmarks("made_up", make_up_trace());
    if (const char* path = std::getenv("PAGELAB_TRACE")) add_benchmarks("trace", read_trace(path));
    benchmark::RunSpecifiedBenchmarks();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
