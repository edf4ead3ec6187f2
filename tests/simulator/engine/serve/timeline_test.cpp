#include "simulator/engine/timeline/timeline.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "reference/contract/error.h"

using namespace pagelab;

namespace {

constexpr double kSchedule = 10, kMetadata = 5, kGpu = 30;
constexpr StepCost kStep = {
    .schedule_us = kSchedule, .metadata_us = kMetadata, .gpu_us = kGpu, .matrices_us = kGpu};

// Figures that a hand calculates with: 1 TFLOP/s is 1e6 operations a microsecond, 1 GB/s 1e3 bytes.
TimelineCosts round_costs() {
  TimelineCosts costs;
  costs.schedule_us = 100;
  costs.metadata_us = 20;
  costs.metadata_us_per_request = 2;
  costs.kernels_per_layer = 10;
  costs.launch_us = 5;
  costs.replay_us = 10;
  costs.matrix_tflops = 1;
  costs.read_gbps = 1;
  costs.decode_us = 7;
  costs.decode_gbps = 1;
  costs.extend_us = 9;
  costs.extend_tflops = 1;
  costs.extend_gbps = 1;
  return costs;
}

// One layer with matrices of 2 x (2 x 4) + 2 x (2 x 4) + 3 x 2 x 3 = 50 weights, and 12 for the logits. A token's
// key and value have 2 x 1 x 4 x 2 = 16 bytes.
ServedModel tiny_model() {
  ServedModel model;
  model.num_layers = 1;
  model.hidden_size = 2;
  model.intermediate_size = 3;
  model.vocab_size = 6;
  model.num_query_heads = 1;
  model.num_kv_heads = 1;
  model.head_size = 4;
  return model;
}

}  // namespace

TEST_SUITE("timeline") {
  TEST_CASE("one after another the GPU waits while the CPU prepares") {
    Timeline timeline;
    const StepTimes first = timeline.launch(kStep);
    timeline.wait_for(first);
    const StepTimes second = timeline.launch(kStep);
    CHECK(first.metadata_start_us == 10);
    CHECK(first.gpu_start_us == 15);
    CHECK(first.gpu_end_us == 45);
    CHECK(second.schedule_start_us == 45);
    CHECK(second.gpu_start_us == 60);
    CHECK(second.gpu_end_us == 90);
  }

  TEST_CASE("asynchronously the next step is prepared while the GPU computes") {
    Timeline timeline;
    const StepTimes first = timeline.launch(kStep);
    const StepTimes second = timeline.launch(kStep);
    timeline.wait_for(first);
    const StepTimes third = timeline.launch(kStep);
    CHECK(second.schedule_start_us == 15);
    CHECK(second.gpu_start_us == 45);
    CHECK(second.gpu_end_us == 75);
    CHECK(third.schedule_start_us == 45);
    CHECK(third.cpu_end_us == 60);
    CHECK(third.gpu_start_us == 75);
  }

  TEST_CASE("a wait for the past costs nothing") {
    Timeline timeline;
    timeline.wait_until(50);
    timeline.wait_until(20);
    CHECK(timeline.now_us() == 50);
  }

  TEST_CASE("a batch is added up as decodes and longer queries") {
    // Decodes that read 8 and 3 tokens; one query of 3 tokens behind 4: it sees 5 + 6 + 7 keys.
    const std::vector<ScheduledRequest> batch = {
        {.num_scheduled_tokens = 1, .num_computed_tokens = 7},
        {.num_scheduled_tokens = 3, .num_computed_tokens = 4},
        {.num_scheduled_tokens = 1, .num_computed_tokens = 2}};
    const StepWork work = work_of(batch);
    CHECK(work.num_reqs == 3);
    CHECK(work.num_padded_tokens == 5);
    CHECK(work.num_decodes == 2);
    CHECK(work.decode_kv_tokens == 11);
    CHECK(work.num_extends == 1);
    CHECK(work.extend_kv_tokens == 7);
    CHECK(work.extend_pairs == 18);
  }

  TEST_CASE("the time of a step follows from its figures") {
    StepWork work;
    work.num_reqs = 2;
    work.num_padded_tokens = 4;
    work.num_decodes = 2;
    work.decode_kv_tokens = 1000;
    work.graph_mode = CUDAGraphMode::kFull;
    const StepCost cost = estimate(work, tiny_model(), round_costs());
    CHECK(cost.schedule_us == 100);
    CHECK(cost.metadata_us == 24);
    // 50 weights are 100 bytes: 0.1 us to read, and 4 rows take 0.0004 us of arithmetic. Logits: 24 bytes.
    CHECK(cost.matrices_us == doctest::Approx(0.124));
    // 16,000 bytes at 1 GB/s are 16 us, after 7.
    CHECK(cost.attention_us == doctest::Approx(23));
    CHECK(cost.launch_us == 10);
    CHECK(cost.gpu_us == doctest::Approx(23.124));
  }

  TEST_CASE("many rows make a matrix product cost its arithmetic") {
    StepWork work;
    work.num_padded_tokens = 1000000;
    // 2 x 50 operations a row: 100e6 at 1e6 a microsecond; the logits of no request read 24 bytes.
    CHECK(estimate(work, tiny_model(), round_costs()).matrices_us == doctest::Approx(100.024));
  }

  TEST_CASE("longer queries cost their pairs or their keys whichever takes longer") {
    StepWork work;
    work.num_extends = 1;
    work.extend_kv_tokens = 10;
    work.extend_pairs = 500000;
    // 4 operations x 4 elements x 500,000 pairs = 8e6: 8 us after 9; 160 bytes take 0.16.
    CHECK(estimate(work, tiny_model(), round_costs()).attention_us == doctest::Approx(17));
    work.extend_kv_tokens = 2000;  // 32,000 bytes: 32 us
    CHECK(estimate(work, tiny_model(), round_costs()).attention_us == doctest::Approx(32));
  }

  TEST_CASE("launching takes longer the less a graph replays") {
    StepWork work;
    const auto launch_us = [&work](CUDAGraphMode mode) {
      work.graph_mode = mode;
      return estimate(work, tiny_model(), round_costs()).launch_us;
    };
    CHECK(launch_us(CUDAGraphMode::kFull) == 10);
    // Two pieces around one layer's attention, and 2 launches in between.
    CHECK(launch_us(CUDAGraphMode::kPiecewise) == 30);
    CHECK(launch_us(CUDAGraphMode::kNone) == 50);
    CHECK(estimate(work, tiny_model(), round_costs()).gpu_us == 50);
  }

  TEST_CASE("S1 a common prefix is read once with cascade and once a request without") {
    StepWork work;
    work.num_decodes = 8;
    work.decode_kv_tokens = 8 * (1024 + 16);
    work.cascade_prefix_len = 1024;
    CHECK(decode_bytes(work, tiny_model(), false) == 8 * 1040 * 16);
    CHECK(decode_bytes(work, tiny_model(), true) == (1024 + 8 * 16) * 16);
    // Two passes: 2 x 7 us, and 18,432 bytes.
    CHECK(estimate(work, tiny_model(), round_costs()).attention_us == doctest::Approx(14 + 18.432));
  }

  TEST_CASE("every figure has a name and a source and can be set") {
    for (const TimelineCost& cost : timeline_costs()) {
      CAPTURE(cost.name);
      CHECK_FALSE(cost.source.empty());
      TimelineCosts costs;
      set_cost(costs, std::string(cost.name) + "=12.5");
      CHECK(costs.*cost.value == 12.5);
    }
  }

  TEST_CASE("the only figure that was counted lists what it counts") {
    for (const TimelineCost& cost : timeline_costs()) {
      CAPTURE(cost.name);
      CHECK((cost.origin == CostOrigin::kCounted) == (cost.name == "kernels_per_layer"));
      if (cost.origin != CostOrigin::kCounted) continue;
      const auto num_kernels = 1 + std::count(cost.source.begin(), cost.source.end(), ',');
      CHECK(TimelineCosts{}.*cost.value == num_kernels);
    }
  }

  TEST_CASE("a figure that is not there or no number is refused") {
    TimelineCosts costs;
    CHECK_THROWS_WITH_AS(set_cost(costs, "launch_us"), doctest::Contains("NAME=VALUE"), Error);
    CHECK_THROWS_WITH_AS(set_cost(costs, "launchus=3"), doctest::Contains("no cost launchus"),
                         Error);
    for (const char* value : {"", "x", "-1", "nan", "inf", "1e10", "3 "}) {
      CAPTURE(value);
      CHECK_THROWS_AS(set_cost(costs, std::string("launch_us=") + value), Error);
    }
    CHECK_THROWS_WITH_AS(set_cost(costs, "read_gbps=0"), doctest::Contains("above 0"), Error);
    CHECK_NOTHROW(set_cost(costs, "launch_us=0"));
  }
}
