// The first rung of prefill, tiles in shared memory and online softmax: within the derived bound of
// REFERENCE in every case of the tables, and no bit changed by anything that is not the row's own.

#include <doctest/doctest.h>

#include "tests/gpu/ladders/prefill_checks.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

constexpr int kRung = 1;

std::unique_ptr<AttentionBackend> rung_1(const std::shared_ptr<Device>& device) {
  return prefill_backend(kRung, device);
}

void check_table_of_cases(const std::shared_ptr<Device>& device) {
  std::vector<AttentionCase> cases = attention_cases(5000);
  for (const AttentionCase& attention_case : prefill_cases()) cases.push_back(attention_case);
  check_cases(cases, *rung_1(device)).print("rung 1", *device);
}

}  // namespace

TEST_SUITE("paged prefill by tiles") {
  TEST_CASE("rung 1 of prefill is within the bound of REFERENCE in every case (simulators)") {
    for (const auto& device : simulators()) check_table_of_cases(device);
  }
  TEST_CASE("rung 1 of prefill is within the bound of REFERENCE in every case (GPU)") {
    if (const auto device = gpu_or_skip()) check_table_of_cases(device);
  }

  TEST_CASE("rung 1 of prefill falls into none of the traps R1 to R10 and K4 to K18 (simulators)") {
    for (const auto& device : simulators()) check_traps(*rung_1(device));
  }
  TEST_CASE("rung 1 of prefill falls into none of the traps R1 to R10 and K4 to K18 (GPU)") {
    if (const auto device = gpu_or_skip()) check_traps(*rung_1(device));
  }

  TEST_CASE("K16 and K17: nothing but a row's own changes a bit of rung 1 (simulators)") {
    for (const auto& device : simulators()) check_neighbours(*rung_1(device), DType::kFloat32);
  }
  TEST_CASE("K16 and K17: nothing but a row's own changes a bit of rung 1 (GPU)") {
    if (const auto device = gpu_or_skip()) check_neighbours(*rung_1(device), DType::kFloat32);
  }

  TEST_CASE("infinities and NaN reach rung 1's results as in the reference (simulators)") {
    for (const auto& device : simulators()) {
      check_extraordinary_numbers(*rung_1(device), DType::kFloat32);
    }
  }
  TEST_CASE("infinities and NaN reach rung 1's results as in the reference (GPU)") {
    if (const auto device = gpu_or_skip()) {
      check_extraordinary_numbers(*rung_1(device), DType::kFloat32);
    }
  }

  TEST_CASE("both simulators have the same bits of rung 1 in every order of threads") {
    std::vector<AttentionStep> steps;
    for (const AttentionCase& attention_case : attention_cases(6000)) {
      if (attention_case.seed % 2 == 0) steps.push_back(attention_case.step());
    }
    for (const AttentionCase& attention_case : prefill_cases()) {
      steps.push_back(attention_case.step());
    }
    check_thread_orders(rung_1, steps);
  }

  TEST_CASE("rung 1 of prefill refuses a head of more than 256 elements by name") {
    RandomStepOptions options;
    options.head_size = 257;
    CHECK_THROWS_WITH_AS(prefill_by(kRung, random_step(options, 1), simulator_device()),
                         "paged_prefill/1_tiled: head_size is 257, but it must be from 1 to 256.",
                         Error);
  }
}
