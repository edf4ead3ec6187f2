#include "tests/gpu/backend_checks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "reference/cache/slot_mapping.h"
#include "reference/contract/step_folder.h"
#include "reference/numerics/float_formats.h"
#include "tests/cases/attention_traps.h"
#include "tests/gpu/attention_checks.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/ladders/ladders.h"
#include "tests/support/environment.h"

namespace pagelab::test {
namespace {

// Overwrites a quarter of the elements.
void scatter_extraordinary(Tensor& array, Random& random) {
  const double numbers[] = {-INFINITY, INFINITY, std::nan(""), 0.0};
  Tensor wide = convert(array, DType::kFloat64);
  for (std::int64_t index = 0; index < wide.size(); ++index) {
    if (random.whole(0, 3) == 0) wide.data<double>()[index] = numbers[random.whole(0, 3)];
  }
  array = convert(wide, array.dtype());
}

// A request whose first key scores −∞ with every query: rows after the first see others, too.
AttentionStep step_that_begins_with_minus_infinity(DType dtype) {
  RandomStepOptions options;
  options.dtype = dtype;
  options.num_query_heads = 2;
  options.num_kv_heads = 1;
  options.head_size = options.head_size_v = 16;
  options.requests = {{4, 4}};
  AttentionStep step = random_step(options, 25);
  Tensor query = convert(step.query, DType::kFloat64);
  for (std::int64_t row = 0; row < 4 * 2; ++row) query.data<double>()[row * 16] = 1.0;
  step.query = convert(query, dtype);
  Tensor key = convert(step.key, DType::kFloat64);
  key.data<double>()[0] = -INFINITY;
  step.key = convert(key, dtype);
  return step;
}

}  // namespace

void UsedShare::print(const char* what, const Device& device) const {
  std::printf("%s on the %s: up to %.1f %% of the bound in use\n", what, device.name().c_str(),
              100.0 * worst_);
}

UsedShare check_cases(const std::vector<AttentionCase>& cases, const AttentionBackend& backend) {
  UsedShare used;
  for (const AttentionCase& attention_case : cases) {
    CAPTURE(attention_case.name);
    CAPTURE(attention_case.seed);
    const AttentionStep step = attention_case.step();
    used.add(check_within_bound(step, attend(step, backend), backend));
  }
  return used;
}

void check_traps(const AttentionBackend& backend) {
  for (const AttentionTrap& trap : attention_traps()) {
    CAPTURE(trap.name);
    const AttentionResult got = attend(trap.step, backend);
    check_within_bound(trap.step, got, backend);
    if (!trap.is_exact) continue;
    check_identical("output", convert(got.output, DType::kFloat64), trap.output);
  }
  for (const AttentionTwins& twins : attention_twins()) {
    CAPTURE(twins.name);
    check_same_bits(attend(twins.one, backend), attend(twins.other, backend));
  }
}

void check_golden_steps(const AttentionBackend& backend) {
  int num_steps = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden_dir() / "steps")) {
    if (!entry.is_directory()) continue;
    CAPTURE(entry.path().filename().string());
    const StepFolder golden = read_step_folder(entry.path());
    const AttentionResult got = attend(golden.step, backend);
    check_within_bound(golden.step, got, backend);
    check_identical("key_cache", got.cache.keys(), *golden.expected.key_cache);
    check_identical("value_cache", got.cache.values(), *golden.expected.value_cache);
    ++num_steps;
  }
  CHECK(num_steps == 16);
}

void check_neighbours(const AttentionBackend& backend, DType dtype) {
  RandomStepOptions options_of_one;
  options_of_one.dtype = dtype;
  options_of_one.num_query_heads = 4;
  options_of_one.head_size = 48;
  options_of_one.head_size_v = 32;
  options_of_one.requests = {{70, 150}};
  const AttentionStep one = random_step(options_of_one, 71);
  const AttentionResult alone = attend(one, backend);
  for (std::int64_t block_size : {1, 3, 16, 32}) {
    CAPTURE(block_size);
    RandomStepOptions options = options_of_one;
    options.block_size = block_size;
    options.requests = {{3, 11}, {1, 40}, {70, 150}, {2, 2}};
    AttentionStep step = random_step(options, 72);
    replace_request(step, 2, one);
    const AttentionResult together = attend(step, backend);
    check_rows(together, 3 + 1, alone, 70);
  }
}

void check_extraordinary_numbers(const AttentionBackend& backend, DType dtype) {
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
    const AttentionResult got = attend(step, backend);
    check_within_bound(step, got, backend);
    for (std::int64_t index = 0; index < got.output.size(); ++index) {
      const float output = got.output.data<float>()[index];
      if (std::isnan(output)) CHECK(bits_of(output) == 0x7fffffffu);
    }
  }
  const AttentionStep step = step_that_begins_with_minus_infinity(dtype);
  check_within_bound(step, attend(step, backend), backend);
}

AttentionStep counting_step(std::int32_t seq_len, std::int64_t block_size) {
  RandomStepOptions options;
  options.num_query_heads = 2;
  options.num_kv_heads = 1;
  options.head_size = options.head_size_v = 16;
  options.block_size = block_size;
  options.requests = {{1, seq_len}};
  AttentionStep step = random_step(options, static_cast<std::uint64_t>(seq_len));
  std::fill_n(step.query.data<float>(), step.query.size(), 0.0f);
  Tensor values = step.cache.values();
  for (std::int64_t position = 0; position + 1 < seq_len; ++position) {
    const std::int64_t slot = slot_of(step.metadata.block_table.row(0), position, block_size);
    std::fill_n(values.data<float>() + slot * 16, 16, static_cast<float>(position));
  }
  step.cache.assign(step.cache.keys(), values);
  std::fill_n(step.value.data<float>(), 16, static_cast<float>(seq_len - 1));
  return step;
}

void check_counts(const AttentionBackend& backend) {
  for (const std::int32_t seq_len : {1, 10, 16, 17, 256, 257, 511, 512, 513, 1024, 1025, 1537}) {
    CAPTURE(seq_len);
    const AttentionResult got = attend(counting_step(seq_len, 16), backend);
    // Sums of whole numbers are exact here.
    const float mean = static_cast<float>(seq_len - 1) / 2.0f;
    for (std::int64_t index = 0; index < got.output.size(); ++index) {
      CHECK(got.output.data<float>()[index] == mean);
    }
    CHECK(std::abs(got.lse.data<float>()[0] - std::log(static_cast<double>(seq_len))) < 1e-5);
  }
}

void check_thread_orders(const BackendOn& backend_on, const std::vector<AttentionStep>& steps) {
  std::vector<AttentionResult> expected;
  for (const AttentionStep& step : steps) {
    expected.push_back(attend(step, *backend_on(simulator_device())));
  }
  on_simulators_in_all_orders([&](const std::shared_ptr<Device>& device) {
    for (std::size_t index = 0; index < steps.size(); ++index) {
      CAPTURE(index);
      check_same_bits(attend(steps[index], *backend_on(device)), expected[index]);
    }
  });
}

}  // namespace pagelab::test
