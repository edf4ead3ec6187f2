// The rungs of prefill that multiply on tensor cores: within the bound derived for them of REFERENCE, the same
// bits from both, and no bit changed by anything that is not the row's own.

#include <doctest/doctest.h>

#include "tests/gpu/ladders/prefill_checks.h"
#include "tests/gpu/tensor_core_steps.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

// The tables, then groups of heads and heads that are seldom.
std::vector<AttentionCase> cases() {
  std::vector<AttentionCase> all;
  for (const AttentionCase& attention_case : attention_cases(5000)) {
    all.push_back(for_tensor_cores(attention_case));
  }
  for (const AttentionCase& attention_case : prefill_cases()) {
    all.push_back(for_tensor_cores(attention_case));
  }
  const auto add = [&](const char* name, const auto& change) {
    RandomStepOptions options;
    options.dtype = all.size() % 2 == 0 ? DType::kFloat16 : DType::kBFloat16;
    options.head_size = options.head_size_v = 32;
    options.requests = {{3, 20}, {1, 5}};
    change(options);
    all.push_back({name, options, 7000 + all.size()});
  };
  add("K2 and K3: 28 query heads on 4 KV heads", [](auto& o) {
    o.num_query_heads = 28;
    o.num_kv_heads = 4;
  });
  add("a group of 16", [](auto& o) {
    o.num_query_heads = 16;
    o.num_kv_heads = 1;
  });
  for (std::int64_t head_size : {112, 144, 192, 256}) {
    add("a long head", [=](auto& o) {
      o.num_query_heads = o.num_kv_heads = 1;
      o.head_size = head_size;
      o.head_size_v = head_size == 192 ? 128 : head_size;
    });
  }
  return all;
}

// Every case on one rung; the next rung must have the same bits.
void check_table_of_cases(const std::shared_ptr<Device>& device) {
  UsedShare bfloat16;
  UsedShare float16;
  for (const AttentionCase& attention_case : cases()) {
    CAPTURE(attention_case.name);
    CAPTURE(attention_case.seed);
    const AttentionStep step = attention_case.step();
    const AttentionResult got = prefill_by(2, step, device);
    check_same_bits(prefill_by(3, step, device), got);
    const double share = check_within_bound(step, got, *prefill_backend(2, device));
    (step.query.dtype() == DType::kBFloat16 ? bfloat16 : float16).add(share);
  }
  bfloat16.print("rungs 2 and 3 in bfloat16", *device);
  float16.print("rungs 2 and 3 in float16", *device);
  CHECK(bfloat16.worst() > 0.01);
  CHECK(float16.worst() > 0.01);
}

// −60003 is no float16 number, but −60000 and −3 are: the key gets a second element.
void split(Tensor& keys) {
  Tensor wide = convert(keys, DType::kFloat64);
  double* elements = wide.data<double>();
  for (std::int64_t index = 0; index + 1 < wide.size(); ++index) {
    if (elements[index] > -60001.0 || elements[index + 1] != 0.0) continue;
    elements[index] = -60000.0;
    elements[index + 1] = -3.0;
  }
  keys = convert(wide, DType::kFloat16);
}

void check_very_negative_scores(int rung, const std::shared_ptr<Device>& device) {
  bool found = false;
  for (const AttentionTrap& trap : attention_traps()) {
    if (trap.name.substr(0, 3) != "R4:") continue;
    found = true;
    AttentionStep step = for_tensor_cores(trap.step);
    step.query = convert(
        Tensor::from_values<double>({1, 1, 16}, {1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
        DType::kFloat16);
    const std::int64_t row_size = 16;
    CHECK(step.query.size() == row_size);
    // −60003 rounds to −60000 in float16 where it stands alone, so both are written anew: first −60000.
    step.key = padded(trap.step.key, DType::kFloat64);
    split(step.key);
    const AttentionResult got = prefill_by(rung, step, device);
    check_within_bound(step, got, *prefill_backend(rung, device));
    CHECK(got.output.value(0) == doctest::Approx(1.0948517).epsilon(1e-3));
    CHECK(got.lse.value(0) == doctest::Approx(-59999.9514).epsilon(1e-6));
  }
  CHECK(found);
}

void check_traps(int rung, const std::shared_ptr<Device>& device) {
  for (const AttentionTrap& trap : attention_traps()) {
    CAPTURE(trap.name);
    if (trap.name.substr(0, 3) == "R4:") continue;
    const AttentionStep step = for_tensor_cores(trap.step);
    const AttentionResult got = prefill_by(rung, step, device);
    check_within_bound(step, got, *prefill_backend(rung, device));
    if (!trap.is_exact) continue;
    const std::int64_t size = trap.output.shape().back();
    const std::int64_t wide_size = got.output.shape().back();
    for (std::int64_t index = 0; index < trap.output.size(); ++index) {
      const std::int64_t wide_index = index / size * wide_size + index % size;
      CHECK(got.output.value(wide_index) == trap.output.value(index));
    }
  }
  check_very_negative_scores(rung, device);
  for (const AttentionTwins& twins : attention_twins()) {
    CAPTURE(twins.name);
    check_same_bits(prefill_by(rung, for_tensor_cores(twins.one), device),
                    prefill_by(rung, for_tensor_cores(twins.other), device));
  }
}

// K6: a table exactly as wide as needed, at the end of its array.
void check_table_width(int rung, const std::shared_ptr<Device>& device) {
  RandomStepOptions options;
  options.dtype = DType::kBFloat16;
  options.head_size = options.head_size_v = 16;
  options.num_query_heads = options.num_kv_heads = 1;
  options.block_size = 16;
  options.requests = {{2, 65}};
  options.spare_table_columns = 0;
  const AttentionStep step = random_step(options, 6);
  CHECK(step.metadata.block_table.max_blocks_per_req == 5);
  check_within_bound(step, prefill_by(rung, step, device), *prefill_backend(rung, device));
}

void check_both(const std::function<void(int rung)>& check) {
  for (int rung : {2, 3}) {
    CAPTURE(rung);
    check(rung);
  }
}

void check_all(const std::shared_ptr<Device>& device) {
  check_both([&](int rung) {
    check_traps(rung, device);
    check_table_width(rung, device);
    for (DType dtype : {DType::kBFloat16, DType::kFloat16}) {
      // The checked simulator looks at addresses, which are the same in both.
      if (dtype == DType::kFloat16 && device->kind() == DeviceKind::kCheckedSimulator) continue;
      check_neighbours(*prefill_backend(rung, device), dtype);
      check_extraordinary_numbers(*prefill_backend(rung, device), dtype);
    }
  });
}

}  // namespace

TEST_SUITE("paged prefill on tensor cores") {
  TEST_CASE("rungs 2 and 3 of prefill have the same bits within the bound (simulator)") {
    check_table_of_cases(simulator_device());
  }
  TEST_CASE("rungs 2 and 3 of prefill have the same bits within the bound (GPU)") {
    if (const auto device = gpu_or_skip()) check_table_of_cases(device);
  }

  TEST_CASE("K4 to K18: no trap and no neighbour and no NaN misleads rungs 2 and 3 (simulators)") {
    for (const auto& device : simulators()) check_all(device);
  }
  TEST_CASE("K4 to K18: no trap and no neighbour and no NaN misleads rungs 2 and 3 (GPU)") {
    if (const auto device = gpu_or_skip()) check_all(device);
  }

  TEST_CASE("both simulators have the same bits of rungs 2 and 3 in every order of threads") {
    std::vector<AttentionStep> steps;
    for (const AttentionCase& attention_case : cases()) {
      if (attention_case.seed % 7 == 0) steps.push_back(attention_case.step());
    }
    check_both([&](int rung) {
      const auto backend_on = [=](const std::shared_ptr<Device>& device) {
        return prefill_backend(rung, device);
      };
      check_thread_orders(backend_on, steps);
    });
  }

  TEST_CASE("rungs 2 and 3 of prefill refuse types and sizes by name") {
    RandomStepOptions options;
    options.head_size = options.head_size_v = 16;
    CHECK_THROWS_WITH_AS(
        prefill_by(3, random_step(options, 1), simulator_device()),
        "paged_prefill/3_pipelined: the query is float32 and the cache float32, but tensor cores "
        "multiply a float16 or bfloat16 query with a cache of the same type or of fp8. "
        "Earlier rungs take every type.",
        Error);
    options.dtype = DType::kBFloat16;
    options.head_size = 40;
    CHECK_THROWS_WITH_AS(prefill_by(2, random_step(options, 1), simulator_device()),
                         "paged_prefill/2_tensor_cores: head_size is 40, but it must be a multiple "
                         "of 16. Earlier rungs take every number.",
                         Error);
    options.head_size = 16;
    options.head_size_v = 272;
    CHECK_THROWS_WITH_AS(
        prefill_by(3, random_step(options, 1), simulator_device()),
        "paged_prefill/3_pipelined: head_size_v is 272, but it must be from 16 to 256.", Error);
  }
}
