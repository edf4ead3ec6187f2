#include "simulator/engine/serve/serve_trace.h"

#include <doctest/doctest.h>

#include <numeric>

#include "reference/contract/error.h"
#include "simulator/engine/serve/serving_report.h"
#include "simulator/engine/step/prepared_step.h"

using namespace pagelab;

namespace {

constexpr double kStepUs = 1000;

TraceRequest request_of(std::int32_t num_prompt_tokens,
                        std::int32_t num_output_tokens,
                        std::vector<std::int32_t> blocks,
                        double arrival_us = 0) {
  return {.arrival_us = arrival_us,
          .num_prompt_tokens = num_prompt_tokens,
          .num_output_tokens = num_output_tokens,
          .blocks = std::move(blocks)};
}

RequestTrace trace_of(std::vector<TraceRequest> requests) {
  RequestTrace trace;
  trace.name = "trace";
  for (TraceRequest& request : requests) {
    request.line = static_cast<std::int64_t>(trace.requests.size()) + 1;
    trace.requests.push_back(std::move(request));
  }
  trace.num_blocks = 100;
  return trace;
}

// One step after another, each of a millisecond; blocks of 16.
ServingSettings settings_of(std::int32_t num_usable_blocks) {
  ServingSettings settings;
  settings.cache.num_blocks = num_usable_blocks + 1;  // the null block
  settings.cache.max_model_len = 4096;
  settings.worker.capture_sizes = {1, 2, 4, 8, 16, 32};
  settings.step_us = kStepUs;
  return settings;
}

std::int64_t num_padded(const ServedTrace& served, std::size_t step) {
  return served.steps[step].work.num_padded_tokens;
}

}  // namespace

TEST_SUITE("served trace") {
  TEST_CASE("a request of three output tokens takes three steps") {
    const RequestTrace trace = trace_of({request_of(20, 3, {0}, 500)});
    const ServedTrace served = serve_trace(trace, settings_of(10));
    // 20 prompt tokens, then one at a time; the graph of the first step is padded to 32.
    REQUIRE(served.steps.size() == 3);
    CHECK(served.steps[0].num_tokens == 20);
    CHECK(num_padded(served, 0) == 32);
    CHECK(served.steps[0].work.graph_mode == CUDAGraphMode::kPiecewise);
    CHECK(served.steps[1].num_tokens == 1);
    CHECK(served.steps[1].work.graph_mode == CUDAGraphMode::kFull);
    // 22 tokens are in the cache at the end: 2 blocks.
    CHECK(served.steps[2].num_used_blocks == 2);
    const ServedRequest& request = served.requests[0];
    CHECK(request.admitted_us == 500);
    CHECK(request.first_token_us == 1500);
    CHECK(request.last_token_us == 3500);
    CHECK(request.num_output_tokens == 3);
  }

  TEST_CASE("E1 a prompt that is cached to its end has its last block computed again") {
    const RequestTrace trace =
        trace_of({request_of(1024, 1, {0, 1}), request_of(1024, 1, {0, 1}, 5000)});
    const ServedTrace served = serve_trace(trace, settings_of(200));
    CHECK(served.requests[0].num_hit_tokens == 0);
    CHECK(served.requests[1].num_hit_tokens == 1008);
    REQUIRE(served.steps.size() == 2);
    CHECK(served.steps[1].num_tokens == 16);
    // Nothing runs between 1000 and 5000.
    CHECK(served.steps[1].times.schedule_start_us == 5000);
    const ServingReport report = report_of(served, ServedModel());
    CHECK(report.num_hit_tokens == 1008);
    CHECK(report.num_prompt_tokens == 2048);
  }

  TEST_CASE("without prefix caching nothing is hit") {
    const RequestTrace trace =
        trace_of({request_of(1024, 1, {0, 1}), request_of(1024, 1, {0, 1}, 5000)});
    ServingSettings settings = settings_of(200);
    settings.cache.enable_caching = false;
    CHECK(serve_trace(trace, settings).requests[1].num_hit_tokens == 0);
  }

  TEST_CASE("S9 two requests of 6 blocks in a pool of 8 both finish") {
    // 32 + 64 tokens each, of which 95 are computed: 6 blocks. At 4 blocks each the pool is full.
    const RequestTrace trace = trace_of({request_of(32, 64, {0}), request_of(32, 64, {1})});
    const ServedTrace served = serve_trace(trace, settings_of(8));
    CHECK(served.requests[0].num_output_tokens == 64);
    CHECK(served.requests[1].num_output_tokens == 64);
    const ServingReport report = report_of(served, ServedModel());
    CHECK(report.num_preemptions <= 2);
    CHECK(report.num_preemptions >= 1);
    CHECK(served.requests[0].num_preemptions == 0);
    CHECK(report.most_used_blocks == 8);
  }

  TEST_CASE("S9 a request that brings no token for too long is named") {
    ServingSettings settings = settings_of(10);
    settings.scheduler.max_num_batched_tokens =
        10;  // 40 tokens take 4 steps, the last with a token
    settings.most_steps_without_token = 2;
    const RequestTrace trace = trace_of({request_of(40, 1, {0})});
    CHECK_THROWS_WITH_AS(
        serve_trace(trace, settings),
        "request 0 (line 1 of trace) makes no progress after step 3: 3 steps in a row brought no "
        "token.",
        Error);
    settings.most_steps_without_token = 3;
    CHECK(serve_trace(trace, settings).steps.size() == 4);
  }

  TEST_CASE("E7 a request that can never fit is refused with its line before anything runs") {
    const RequestTrace trace = trace_of({request_of(10, 1, {0}), request_of(100, 1, {1}, 1e9)});
    CHECK_THROWS_WITH_AS(serve_trace(trace, settings_of(4)),
                         "line 2 of trace: the request can never fit: its 100 tokens need 7 blocks "
                         "of 16, but 4 exist (num_blocks 5, the null block included).",
                         Error);
    ServingSettings settings = settings_of(100);
    settings.cache.max_model_len = 100;
    CHECK_THROWS_WITH_AS(serve_trace(trace, settings),
                         "line 2 of trace: the request can never fit: 100 prompt and 1 output "
                         "tokens are more than max_model_len 100.",
                         Error);
    CHECK_NOTHROW(serve_trace(trace, settings_of(7)));
  }

  TEST_CASE("a pool of the null block alone is refused") {
    CHECK_THROWS_AS(serve_trace(trace_of({request_of(1, 1, {0})}), settings_of(0)), Error);
  }

  TEST_CASE("asynchronous scheduling brings the same tokens and hides the CPU") {
    // Eager: 32 layers x 1 kernel x 1 us, and everything else costs next to nothing.
    ServingSettings settings = settings_of(10);
    settings.step_us.reset();
    settings.worker.mode = CUDAGraphMode::kNone;
    for (const char* cost :
         {"schedule_us=10", "metadata_us=5", "metadata_us_per_request=0", "kernels_per_layer=1",
          "launch_us=1", "matrix_tflops=1e9", "read_gbps=1e9", "decode_us=0", "decode_gbps=1e9",
          "extend_us=0", "extend_tflops=1e9", "extend_gbps=1e9"}) {
      set_cost(settings.costs, cost);
    }
    const RequestTrace trace = trace_of({request_of(20, 3, {0})});
    const ServedTrace one_after_another = serve_trace(trace, settings);
    // 3 x (10 + 5 + 32).
    CHECK(one_after_another.requests[0].last_token_us == 141);
    settings.scheduler.async_scheduling = true;
    const ServedTrace overlapped = serve_trace(trace, settings);
    // 15, then the GPU never waits: 15 + 3 x 32.
    CHECK(overlapped.requests[0].last_token_us == 111);
    CHECK(overlapped.requests[0].num_output_tokens == 3);
    CHECK(overlapped.steps.size() == 3);
    CHECK(report_of(one_after_another, settings.model).gpu_gap_us == 30);
    CHECK(report_of(overlapped, settings.model).gpu_gap_us == 0);
  }

  TEST_CASE("a spread gives the smallest values that the shares do not exceed") {
    std::vector<double> values(100);
    std::iota(values.rbegin(), values.rend(), 1);
    const Spread spread = spread_of(values);
    CHECK(spread.median == 50);
    CHECK(spread.p90 == 90);
    CHECK(spread.p99 == 99);
    CHECK(spread.max == 100);
    CHECK(spread_of({7}).median == 7);
    CHECK(spread_of({}).max == 0);
  }

  TEST_CASE("C3 cascade counts what the tables share and never runs as a full graph") {
    // A decode of each of n requests that share 32 blocks of 16 and have one of their own. With 32 query heads on 8 KV
    // heads and 132 multiprocessors: cascade 1 x 4 waves; decode ceil(n x 8 x 4 / 132): 4 for 16 requests, 5 for 17.
    GraphWorkerSettings settings;
    settings.capture_sizes = {16, 32};
    settings.cascade = CascadeSetting{.num_query_heads = 32, .num_kv_heads = 8};
    const GraphWorker worker(settings);
    std::vector<Request> requests;
    for (std::int32_t index = 0; index < 17; ++index) {
      Request& request = requests.emplace_back(index, std::vector<TokenId>{1}, 1);
      request.groups.resize(1);
      request.groups[0].blocks.resize(32);
      std::iota(request.groups[0].blocks.begin(), request.groups[0].blocks.end(), 1);
      request.groups[0].blocks.push_back(100 + index);
    }
    const auto decide = [&](std::size_t num_reqs) {
      std::vector<const Request*> tables;
      for (std::size_t index = 0; index < num_reqs; ++index) tables.push_back(&requests[index]);
      const std::vector<ScheduledRequest> batch(
          num_reqs,
          {.num_scheduled_tokens = 1, .num_computed_tokens = 520, .num_prompt_tokens = 520});
      return worker.decide(batch, tables, /*num_common_prefix_blocks=*/32, 16);
    };
    CHECK(decide(16).cascade_prefix_len == 0);
    CHECK(decide(16).mode == CUDAGraphMode::kFull);
    CHECK(decide(16).num_padded_tokens == 16);
    CHECK(decide(17).cascade_prefix_len == 512);
    CHECK(decide(17).mode == CUDAGraphMode::kPiecewise);
    CHECK(decide(17).num_padded_tokens == 32);
    // The scheduler counted 32 by references, but the tables part after 8: 128 tokens are too few.
    requests[3].groups[0].blocks[8] = 200;
    CHECK(decide(17).cascade_prefix_len == 0);
  }

  TEST_CASE("the worker decides as the step that is built does") {
    const RequestTrace trace =
        trace_of({request_of(40, 6, {0}), request_of(20, 9, {1}, 1000),
                  request_of(30, 2, {2}, 2000), request_of(7, 4, {3}, 2000)});
    ServingSettings settings = settings_of(40);
    const auto layout_of = [&](const StepView& view) {
      std::vector<StepRequest> rows;
      for (std::size_t index = 0; index < view.requests.size(); ++index) {
        rows.push_back(
            {view.requests[index], view.output.scheduled[index].request->groups[0].blocks});
      }
      return rows;
    };
    std::int64_t num_checked = 0;
    serve_trace(trace, settings, [&](const StepView& view) {
      const SortedStep built = prepare_sorted_step(layout_of(view), {}, view.worker.manager());
      CHECK(built.dispatch.cg_mode == view.decision.mode);
      CHECK(built.dispatch.num_tokens == view.decision.num_padded_tokens);
      ++num_checked;
    });
    CHECK(num_checked > 9);
    settings.worker.cascade = CascadeSetting{.num_query_heads = 32, .num_kv_heads = 8};
    serve_trace(trace, settings, [&](const StepView& view) {
      const PreparedStep built =
          prepare_step(layout_of(view), {}, view.worker.dispatcher(),
                       SharedPrefix{view.output.num_common_prefix_blocks, *view.worker.cascade()});
      CHECK(built.dispatch.mode == view.decision.mode);
      CHECK(built.dispatch.descriptor.num_tokens == view.decision.num_padded_tokens);
      CHECK(built.cascade_prefix_len == view.decision.cascade_prefix_len);
    });
  }
}
