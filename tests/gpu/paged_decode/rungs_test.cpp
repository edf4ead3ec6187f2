// Rungs 3 and later of decode: within the derived bound of REFERENCE in every case of the tables and beyond
// one partition, and no bit changed by anything that is not the row's own.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>

#include "gpu/backends/naive.h"
#include "reference/contract/step_folder.h"
#include "reference/numerics/exact_math.h"
#include "tests/cases/attention_traps.h"
#include "tests/gpu/backend_checks.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/ladders/ladders.h"
#include "tests/gpu/paged_decode/decode_checks.h"
#include "tests/gpu/tensor_core_steps.h"
#include "tests/support/environment.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

template <typename Check>
void for_each_rung(const Check& check) {
  for (int rung = kFirstRung; rung <= kLastRung; ++rung) {
    CAPTURE(rung);
    check(rung);
  }
}

// Every case of the long table on a GPU, every third in the simulator, every ninth in the checked one; which
// ones those are differs from rung to rung.
std::size_t stride_on(const Device& device) {
  if (device.kind() == DeviceKind::kCuda) return 1;
  return device.kind() == DeviceKind::kSimulator ? 3 : 9;
}

void check_table(int rung,
                 const std::vector<AttentionCase>& cases,
                 std::size_t stride,
                 const std::shared_ptr<Device>& device) {
  double worst_share = 0.0;
  const std::size_t first = static_cast<std::size_t>(rung) % stride;
  for (std::size_t index = first; index < cases.size(); index += stride) {
    CAPTURE(cases[index].name);
    CAPTURE(cases[index].seed);
    const auto options = options_for(rung, cases[index].options);
    if (!options) continue;
    const AttentionStep step = random_step(*options, cases[index].seed);
    const double share = check_decode_bound(rung, step, decode_by(rung, step, device));
    worst_share = std::max(worst_share, share);
  }
  std::printf("rung %d, %s: up to %.1f %% of the bound in use\n", rung, device->name().c_str(),
              100.0 * worst_share);
}

void check_tables(const std::shared_ptr<Device>& device) {
  for_each_rung([&](int rung) {
    check_table(rung, attention_cases(7000), stride_on(*device), device);
    const bool is_checked = device->kind() == DeviceKind::kCheckedSimulator;
    check_table(rung, long_cases(), is_checked ? 4 : 1, device);
  });
}

// Traps have heads of one or two elements, which rung 6 refuses; rung 7 has them in float16. R4's scores are
// in no float16, and a case of prefill's rungs, whose arithmetic rung 7 has.
void check_traps(const std::shared_ptr<Device>& device) {
  for_each_rung([&](int rung) {
    if (rung == kPipelinedRung) return;
    for (const AttentionTrap& trap : attention_traps()) {
      CAPTURE(trap.name);
      if (rung == kTensorCoreRung && trap.name.substr(0, 3) == "R4:") continue;
      const AttentionStep step = *step_for(rung, trap.step);
      const AttentionResult got = decode_by(rung, step, device);
      check_decode_bound(rung, step, got);
      if (trap.is_exact && rung != kTensorCoreRung) {
        check_identical("output", convert(got.output, DType::kFloat64), trap.output);
      }
    }
    for (const AttentionTwins& twins : attention_twins()) {
      CAPTURE(twins.name);
      check_same_bits(decode_by(rung, *step_for(rung, twins.one), device),
                      decode_by(rung, *step_for(rung, twins.other), device));
    }
  });
}

void check_golden_steps(const std::shared_ptr<Device>& device) {
  int num_steps = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden_dir() / "steps")) {
    if (!entry.is_directory()) continue;
    CAPTURE(entry.path().filename().string());
    const AttentionStep golden = read_step_folder(entry.path()).step;
    for_each_rung([&](int rung) {
      const auto step = step_for(rung, golden);
      if (!step) return;  // their heads are no whole 16 bytes
      check_decode_bound(rung, *step, decode_by(rung, *step, device));
    });
    ++num_steps;
  }
  CHECK(num_steps == 16);
}

// K8, K9 and K12: no key is missed or counted twice. Sums of whole numbers are exact here.
void check_counts(const std::shared_ptr<Device>& device) {
  for (const std::int32_t seq_len : {1, 10, 16, 17, 256, 257, 511, 512, 513, 1024, 1025, 1537}) {
    CAPTURE(seq_len);
    const AttentionStep counting = counting_step(seq_len, 16);
    for_each_rung([&](int rung) {
      const AttentionStep step =
          rung == kTensorCoreRung ? for_tensor_cores(counting) : counting;  // float16 has these
      const AttentionResult got = decode_by(rung, step, device);
      const float mean = static_cast<float>(seq_len - 1) / 2.0f;
      for (std::int64_t index = 0; index < got.output.size(); ++index) {
        CHECK(got.output.data<float>()[index] == mean);
      }
      CHECK(std::abs(got.lse.data<float>()[0] - std::log(static_cast<double>(seq_len))) < 1e-5);
    });
  }
}

// K16 and K17: rows of one batch, and the same rows in a batch of another order with other blocks.
void check_neighbours(const std::shared_ptr<Device>& device) {
  RandomStepOptions options;
  options.head_size = options.head_size_v = 32;
  options.requests = {{7, 29}};
  for_each_rung([&](int rung) {
    const AttentionStep one = random_step(*options_for(rung, options), 71);
    RandomStepOptions of_many = *options_for(rung, options);
    of_many.requests = {{3, 11}, {1, 600}, {7, 29}, {2, 2}};
    const AttentionResult alone = decode_by(rung, one, device);
    for (std::int64_t block_size : {1, 3, 16, 32}) {
      CAPTURE(block_size);
      of_many.block_size = block_size;
      AttentionStep step = random_step(of_many, 72);
      replace_request(step, 2, one);
      const AttentionResult together = decode_by(rung, step, device);
      check_rows(together, 4, alone, 7);
    }
  });
}

// Infinities and NaN in keys and values that are seen reach the results as in the reference.
void check_extraordinary_numbers(const std::shared_ptr<Device>& device) {
  const float extraordinary[] = {-INFINITY, INFINITY, float_from_bits(0xffc00123u),
                                 float_from_bits(0x7fc00000u), 0.0f};
  for_each_rung([&](int rung) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      CAPTURE(seed);
      RandomStepOptions options;
      options.head_size = 2;
      options.requests = {{1, 1}, {2, 2}, {1, 3}, {1, 6}};
      if (seed % 4 == 3) options.requests = {{1, 514}};
      options.sinks = seed % 3 == 0;
      options = *options_for(rung, options);
      AttentionStep step = random_step(options, seed);
      Random random(seed);
      for (Tensor* array : {&step.query, &step.key, &step.value}) {
        Tensor numbers = convert(*array, DType::kFloat32);
        for (std::int64_t index = 0; index < array->size(); ++index) {
          if (random.whole(0, options.head_size) > 1) continue;
          numbers.data<float>()[index] = extraordinary[random.whole(0, 4)];
        }
        *array = convert(numbers, array->dtype());
      }
      const AttentionResult got = decode_by(rung, step, device);
      check_decode_bound(rung, step, got);
      for (std::int64_t index = 0; index < got.output.size(); ++index) {
        const float output = got.output.data<float>()[index];
        if (std::isnan(output)) CHECK(bits_of(output) == 0x7fffffffu);
      }
    }
  });
}

}  // namespace

TEST_SUITE("paged decode") {
  TEST_CASE("decode is within the bound of REFERENCE in every case of the tables (simulators)") {
    for (const auto& device : simulators()) check_tables(device);
  }
  TEST_CASE("decode is within the bound of REFERENCE in every case of the tables (GPU)") {
    if (const auto device = gpu_or_skip()) check_tables(device);
  }

  TEST_CASE("decode falls into none of the traps R1 to R8 and R10 and K4 to K18 (simulators)") {
    for (const auto& device : simulators()) check_traps(device);
  }
  TEST_CASE("decode falls into none of the traps R1 to R8 and R10 and K4 to K18 (GPU)") {
    if (const auto device = gpu_or_skip()) check_traps(device);
  }

  TEST_CASE("decode is within the bound in the sixteen golden steps (simulator)") {
    check_golden_steps(simulator_device());
  }
  TEST_CASE("decode is within the bound in the sixteen golden steps (GPU)") {
    if (const auto device = gpu_or_skip()) check_golden_steps(device);
  }

  TEST_CASE("K8 and K9 and K12: decode counts every key once whatever its splits (simulator)") {
    check_counts(simulator_device());
  }
  TEST_CASE("K8 and K9 and K12: decode counts every key once whatever its splits (GPU)") {
    if (const auto device = gpu_or_skip()) check_counts(device);
  }

  TEST_CASE("K16 and K17: neighbours and blocks change no bit of decode (simulators)") {
    for (const auto& device : simulators()) check_neighbours(device);
  }
  TEST_CASE("K16 and K17: neighbours and blocks change no bit of decode (GPU)") {
    if (const auto device = gpu_or_skip()) check_neighbours(device);
  }

  TEST_CASE("infinities and NaN reach the results of decode as in the reference (simulator)") {
    check_extraordinary_numbers(simulator_device());
  }
  TEST_CASE("infinities and NaN reach the results of decode as in the reference (GPU)") {
    if (const auto device = gpu_or_skip()) check_extraordinary_numbers(device);
  }

  TEST_CASE("both simulators have the same bits of decode in every order of threads") {
    const std::vector<AttentionCase> table = attention_cases(7000);
    std::vector<AttentionCase> cases = {long_cases()[4], long_cases()[5]};
    for (std::size_t index = 0; index < table.size(); index += 24) cases.push_back(table[index]);
    for_each_rung([&](int rung) {
      for (const AttentionCase& attention_case : cases) {
        CAPTURE(attention_case.name);
        const auto options = options_for(rung, attention_case.options);
        if (!options) continue;
        const AttentionStep step = random_step(*options, attention_case.seed);
        const AttentionResult expected = decode_by(rung, step, simulator_device());
        on_simulators_in_all_orders([&](const std::shared_ptr<Device>& device) {
          check_same_bits(decode_by(rung, step, device), expected);
        });
      }
    });
  }
}
