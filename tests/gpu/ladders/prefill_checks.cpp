#include "tests/gpu/ladders/prefill_checks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "gpu/backends/naive.h"
#include "reference/numerics/float_formats.h"

namespace pagelab::test {
namespace {

TableRung<PagedAttentionParams> rung_of(int rung, const Device& device) {
  return kernels_of(device).paged_prefill[static_cast<std::size_t>(rung - 1)];
}

// Overwrites a quarter of the elements.
void scatter_extraordinary(Tensor& array, Random& random) {
  const double numbers[] = {-INFINITY, INFINITY, std::nan(""), 0.0};
  Tensor wide = convert(array, DType::kFloat64);
  for (std::int64_t index = 0; index < wide.size(); ++index) {
    if (random.whole(0, 3) == 0) wide.data<double>()[index] = numbers[random.whole(0, 3)];
  }
  array = convert(wide, array.dtype());
}

}  // namespace

void UsedShare::print(const char* what, const Device& device) const {
  std::printf("%s on the %s: up to %.1f %% of the bound in use\n", what, device.name().c_str(),
              100.0 * worst_);
}

std::vector<AttentionCase> prefill_cases() {
  std::vector<AttentionCase> cases;
  const auto add = [&](const char* name, const auto& change) {
    RandomStepOptions options;
    options.num_query_heads = 2;
    options.num_kv_heads = 1;
    options.head_size = 16;
    options.head_size_v = 16;
    options.block_size = 16;
    change(options);
    cases.push_back({name, options, 900 + cases.size()});
  };
  add("one below, at and above a tile of 16 and 32", [](auto& o) {
    o.requests = {{15, 31}, {16, 32}, {17, 33}, {1, 32}, {1, 33}};
  });
  add("one below, at and above a tile of 64", [](auto& o) {
    o.requests = {{63, 63}, {64, 64}, {65, 65}, {1, 65}};
  });
  add("a chunk after a long context", [](auto& o) { o.requests = {{20, 150}, {3, 130}}; });
  add("a tile of 128 and a query more", [](auto& o) {
    o.requests = {{129, 130}};
    o.num_query_heads = 1;
  });
  add("a window that leaves out tiles on the left", [](auto& o) {
    o.requests = {{90, 170}, {5, 140}};
    o.window_left = 20;
  });
  add("a window on both sides across tiles", [](auto& o) {
    o.requests = {{100, 100}};
    o.causal = false;
    o.window_left = 9;
    o.window_right = 40;
  });
  add("prefix ranges with tiles between them that nobody sees", [](auto& o) {
    o.requests = {{70, 210}};
    o.mm_prefix = true;
    o.window_left = 3;
  });
  add("a query longer than its sequence by more than a tile", [](auto& o) {
    o.requests = {{1, 20}};
    o.query_excess = 90;
  });
  add("not causal across tiles, with every option of the scores", [](auto& o) {
    o.requests = {{40, 100}};
    o.causal = false;
    o.alibi = true;
    o.logit_softcap = 1.5;
    o.sinks = true;
  });
  return cases;
}

Precision prefill_precision(int rung, const AttentionStep& step) {
  return rung_of(rung, *simulator_device()).precision(step.query.dtype());
}

AttentionResult prefill_by(int rung,
                           const AttentionStep& step,
                           const std::shared_ptr<Device>& device) {
  return attend(step, *make_backend_of_rung(device, rung_of(rung, *device)));
}

void check_neighbours(int rung, DType dtype, const std::shared_ptr<Device>& device) {
  RandomStepOptions options_of_one;
  options_of_one.dtype = dtype;
  options_of_one.num_query_heads = 4;
  options_of_one.head_size = 48;
  options_of_one.head_size_v = 32;
  options_of_one.requests = {{70, 150}};
  const AttentionStep one = random_step(options_of_one, 71);
  const AttentionResult alone = prefill_by(rung, one, device);
  for (std::int64_t block_size : {1, 3, 16, 32}) {
    CAPTURE(block_size);
    RandomStepOptions options = options_of_one;
    options.block_size = block_size;
    options.requests = {{3, 11}, {1, 40}, {70, 150}, {2, 2}};
    AttentionStep step = random_step(options, 72);
    replace_request(step, 2, one);
    const AttentionResult together = prefill_by(rung, step, device);
    check_rows(together, 3 + 1, alone, 70);
  }
}

void check_extraordinary_numbers(int rung, DType dtype, const std::shared_ptr<Device>& device) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    CAPTURE(seed);
    RandomStepOptions options;
    options.dtype = dtype;
    options.num_query_heads = 2;
    options.num_kv_heads = 1;
    options.head_size = options.head_size_v = 16;
    options.requests = {{1, 1}, {2, 2}, {1, 3}, {5, 6}};
    options.sinks = seed % 3 == 0;
    options.amplitude = 1.0;
    AttentionStep step = random_step(options, seed);
    Random random(seed);
    // Few enough of the 16 elements of a query and a key that some scores are numbers.
    if (seed % 4 == 0) scatter_extraordinary(step.query, random);
    if (seed % 4 == 1) scatter_extraordinary(step.key, random);
    if (seed % 4 >= 2) scatter_extraordinary(step.value, random);
    const AttentionResult got = prefill_by(rung, step, device);
    check_within_bound(step, got, prefill_precision(rung, step));
    for (std::int64_t index = 0; index < got.output.size(); ++index) {
      const float output = got.output.data<float>()[index];
      if (std::isnan(output)) CHECK(bits_of(output) == 0x7fffffffu);
    }
  }
}

void check_thread_orders(int rung, const std::vector<AttentionStep>& steps) {
  std::vector<AttentionResult> expected;
  for (const AttentionStep& step : steps) {
    expected.push_back(prefill_by(rung, step, simulator_device()));
  }
  on_simulators_in_all_orders([&](const std::shared_ptr<Device>& device) {
    for (std::size_t index = 0; index < steps.size(); ++index) {
      CAPTURE(index);
      check_same_bits(prefill_by(rung, steps[index], device), expected[index]);
    }
  });
}

}  // namespace pagelab::test
