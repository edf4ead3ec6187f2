// The second rung of paged attention, one warp a row: within the derived bound of REFERENCE in every
// case of the tables, the bits of the order that its header states, and no bit changed by anything
// that is not the row's own.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>

#include "gpu/backends/naive.h"
#include "reference/contract/compare.h"
#include "reference/contract/step_folder.h"
#include "reference/numerics/error_bound.h"
#include "reference/numerics/exact_math.h"
#include "tests/cases/attention_cases.h"
#include "tests/cases/attention_traps.h"
#include "tests/gpu/attention_checks.h"
#include "tests/gpu/backend_checks.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/ladders/ladders.h"
#include "tests/support/environment.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

AttentionResult attend_by_warps(const AttentionStep& step, const std::shared_ptr<Device>& device) {
  return attend(step, *make_naive_backend(device, 2));
}

// Why the bound of one chain holds for 32 chains and a butterfly: a product passes as many roundings
// as its lane has elements, at most ceil(head_size / 32), and one for each step of the butterfly that
// adds something other than 0 to its part: at most 5, and at most log2(head_size) rounded up. That is
// never more than the head_size roundings of the chain.
double check_within_canonical_bound(const AttentionStep& step, const AttentionResult& got) {
  return check_within_bound(step, got, Precision::canonical_float());
}

// All cases on a GPU and in the simulator, every fifth in the checked one.
void check_table_of_cases(const std::shared_ptr<Device>& device) {
  const std::uint64_t stride = device->kind() == DeviceKind::kCheckedSimulator ? 5 : 1;
  double worst_share = 0.0;
  for (const std::uint64_t seed_offset : {0u, 3000u}) {
    for (const AttentionCase& attention_case : attention_cases(seed_offset)) {
      if (attention_case.seed % stride != 0) continue;
      CAPTURE(attention_case.name);
      CAPTURE(attention_case.seed);
      const AttentionStep step = attention_case.step();
      const double share = check_within_canonical_bound(step, attend_by_warps(step, device));
      worst_share = std::max(worst_share, share);
    }
  }
  std::printf("%s: up to %.1f %% of the bound in use\n", device->name().c_str(),
              100.0 * worst_share);
}

void check_traps(const std::shared_ptr<Device>& device) {
  for (const AttentionTrap& trap : attention_traps()) {
    CAPTURE(trap.name);
    const AttentionResult got = attend_by_warps(trap.step, device);
    check_within_canonical_bound(trap.step, got);
    if (!trap.is_exact) continue;
    check_identical("output", convert(got.output, DType::kFloat64), trap.output);
  }
  for (const AttentionTwins& twins : attention_twins()) {
    CAPTURE(twins.name);
    const AttentionResult one = attend_by_warps(twins.one, device);
    const AttentionResult other = attend_by_warps(twins.other, device);
    check_same_bits(one, other);
  }
}

void check_golden_steps(const std::shared_ptr<Device>& device) {
  int num_steps = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden_dir() / "steps")) {
    if (!entry.is_directory()) continue;
    CAPTURE(entry.path().filename().string());
    const AttentionStep step = read_step_folder(entry.path()).step;
    check_within_canonical_bound(step, attend_by_warps(step, device));
    ++num_steps;
  }
  CHECK(num_steps == 16);
}

// Lane i's chain over elements i, i + 32, …; then pairs of lanes 16 apart, 8 apart, …, 1 apart. All
// lanes end with the same sum, so lane 0's is written down here: the halves of the warp, and of each
// half the halves again.
float butterfly_of(const std::vector<float>& lanes, std::size_t lane, std::size_t distance) {
  if (distance == 32) return lanes[lane];
  return butterfly_of(lanes, lane, 2 * distance) +
         butterfly_of(lanes, lane + distance, 2 * distance);
}

float dot_in_stated_order(const float* query, const float* key, std::int64_t head_size) {
  std::vector<float> lanes(32, 0.0f);
  for (std::int64_t i = 0; i < head_size; ++i) {
    float& lane = lanes[static_cast<std::size_t>(i % 32)];
    lane = std::fma(query[i], key[i], lane);
  }
  return butterfly_of(lanes, 0, 1);
}

// One request of five keys and one head, without variants, from its definition in the stated order.
void check_stated_order(const std::shared_ptr<Device>& device, std::int64_t head_size) {
  CAPTURE(head_size);
  constexpr std::int32_t kNumKeys = 5;
  RandomStepOptions options;
  options.num_query_heads = options.num_kv_heads = 1;
  options.head_size = head_size;
  options.head_size_v = 37;
  options.requests = {{kNumKeys, kNumKeys}};
  options.causal = false;
  const AttentionStep step = random_step(options, static_cast<std::uint64_t>(head_size));
  const AttentionResult got = attend_by_warps(step, device);
  const float* keys = step.key.data<float>();
  const float* values = step.value.data<float>();
  const float scale = static_cast<float>(step.variant.scale);
  for (std::int64_t row = 0; row < kNumKeys; ++row) {
    float scores[kNumKeys];
    float m = -INFINITY;
    for (std::int64_t j = 0; j < kNumKeys; ++j) {
      const float* query = step.query.data<float>() + row * head_size;
      scores[j] = dot_in_stated_order(query, keys + j * head_size, head_size) * scale;
      m = std::max(m, scores[j]);
    }
    float l = 0.0f;
    std::vector<float> sums(37, 0.0f);
    for (std::int64_t j = 0; j < kNumKeys; ++j) {
      const float p = exact_exp2((scores[j] - m) * kLog2E);
      l += p;
      for (std::size_t d = 0; d < 37; ++d) sums[d] = std::fma(p, values[j * 37 + d], sums[d]);
    }
    for (std::size_t d = 0; d < 37; ++d) {
      const std::int64_t index = row * 37 + static_cast<std::int64_t>(d);
      CHECK(bits_of(got.output.data<float>()[index]) == bits_of(sums[d] / l));
    }
    CHECK(bits_of(got.lse.data<float>()[row]) == bits_of(m + exact_log(l)));
  }
}

void check_stated_orders(const std::shared_ptr<Device>& device) {
  for (std::int64_t head_size : {1, 5, 31, 32, 33, 70, 128, 256}) {
    check_stated_order(device, head_size);
  }
}

// K16 and K17: the rows of one request, attended alone, and in a batch of others in a cache of another
// block size and order.
void check_neighbours(const std::shared_ptr<Device>& device) {
  RandomStepOptions options_of_one;
  options_of_one.head_size = 70;
  options_of_one.head_size_v = 45;
  options_of_one.requests = {{7, 29}};
  const AttentionStep one = random_step(options_of_one, 71);
  const AttentionResult alone = attend_by_warps(one, device);
  for (std::int64_t block_size : {1, 3, 16, 32}) {
    CAPTURE(block_size);
    RandomStepOptions options;
    options.block_size = block_size;
    options.head_size = 70;
    options.head_size_v = 45;
    options.requests = {{3, 11}, {1, 40}, {7, 29}, {2, 2}};
    AttentionStep step = random_step(options, 72);
    replace_request(step, 2, one);
    const AttentionResult together = attend_by_warps(step, device);
    check_rows(together, 3 + 1, alone, 7);
  }
}

// Infinities and NaN in keys and values that are seen reach the results as in the reference.
void check_extraordinary_numbers(const std::shared_ptr<Device>& device) {
  const float extraordinary[] = {-INFINITY, INFINITY, float_from_bits(0xffc00123u),
                                 float_from_bits(0x7fc00000u), 0.0f};
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    RandomStepOptions options;
    options.head_size = 2;
    options.requests = {{1, 1}, {2, 2}, {1, 3}, {1, 6}};
    options.sinks = seed % 3 == 0;
    AttentionStep step = random_step(options, seed);
    Random random(seed);
    for (Tensor* array : {&step.query, &step.key, &step.value}) {
      for (std::int64_t index = 0; index < array->size(); ++index) {
        if (random.whole(0, 3) != 0) continue;
        array->data<float>()[index] = extraordinary[random.whole(0, 4)];
      }
    }
    const AttentionResult got = attend_by_warps(step, device);
    check_within_canonical_bound(step, got);
    for (std::int64_t index = 0; index < got.output.size(); ++index) {
      const float output = got.output.data<float>()[index];
      if (std::isnan(output)) CHECK(bits_of(output) == 0x7fffffffu);
    }
  }
}

}  // namespace

TEST_SUITE("paged attention by warps") {
  TEST_CASE("rung 2 is within the bound of REFERENCE in every case of the table (simulators)") {
    for (const auto& device : simulators()) check_table_of_cases(device);
  }
  TEST_CASE("rung 2 is within the bound of REFERENCE in every case of the table (GPU)") {
    if (const auto device = gpu_or_skip()) check_table_of_cases(device);
  }

  TEST_CASE("rung 2 falls into none of the traps R1 to R8 and R10 and K4 to K18 (simulators)") {
    for (const auto& device : simulators()) check_traps(device);
  }
  TEST_CASE("rung 2 falls into none of the traps R1 to R8 and R10 and K4 to K18 (GPU)") {
    if (const auto device = gpu_or_skip()) check_traps(device);
  }

  TEST_CASE("rung 2 is within the bound in the sixteen golden steps (simulators)") {
    for (const auto& device : simulators()) check_golden_steps(device);
  }
  TEST_CASE("rung 2 is within the bound in the sixteen golden steps (GPU)") {
    if (const auto device = gpu_or_skip()) check_golden_steps(device);
  }

  TEST_CASE("rung 2 has the bits of its stated order for every head size (simulators)") {
    on_simulators_in_all_orders(check_stated_orders);
  }
  TEST_CASE("rung 2 has the bits of its stated order for every head size (GPU)") {
    if (const auto device = gpu_or_skip()) check_stated_orders(device);
  }

  TEST_CASE("K16 and K17: neither block size nor blocks nor neighbours change a bit (simulators)") {
    for (const auto& device : simulators()) check_neighbours(device);
  }
  TEST_CASE("K16 and K17: neither block size nor blocks nor neighbours change a bit (GPU)") {
    if (const auto device = gpu_or_skip()) check_neighbours(device);
  }

  TEST_CASE("infinities and NaN reach rung 2's results as in the reference (simulators)") {
    for (const auto& device : simulators()) check_extraordinary_numbers(device);
  }
  TEST_CASE("infinities and NaN reach rung 2's results as in the reference (GPU)") {
    if (const auto device = gpu_or_skip()) check_extraordinary_numbers(device);
  }

  TEST_CASE("the two simulators have the same bits in every order of threads") {
    std::vector<AttentionStep> steps;
    for (const AttentionCase& attention_case : attention_cases()) {
      if (attention_case.seed % 5 == 0) steps.push_back(attention_case.step());
    }
    check_thread_orders(
        [](const std::shared_ptr<Device>& device) { return make_naive_backend(device, 2); }, steps);
  }
}
